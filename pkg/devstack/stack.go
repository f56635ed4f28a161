// Package devstack runs what tieout needs on one machine: Kafka and a schema
// registry inside this process, and a Postgres below it. The commands demo and
// dev stand on it, and so do the tests of all packages.
package devstack

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Options are those of a whole stack; the zero value is a temporary one on
// free ports.
type Options struct {
	// DataDir keeps everything over restarts. Empty: temporary.
	DataDir string
	// DatabaseURL names a Postgres that is there already; then none is started.
	DatabaseURL string
	// Ports on 127.0.0.1; 0 takes a free one.
	KafkaPort, RegistryPort, PostgresPort int
	// CacheDir is where a downloaded Postgres is kept. Empty: the user's cache.
	CacheDir string
	// Logger is told of what takes long, and of what goes wrong later on. Nil:
	// nobody is.
	Logger *slog.Logger
}

func (o Options) kafka() KafkaOptions {
	return KafkaOptions{DataDir: o.part("kafka"), Port: o.KafkaPort, Logger: o.Logger}
}

func (o Options) registry() RegistryOptions {
	return RegistryOptions{DataDir: o.part("registry"), Port: o.RegistryPort}
}

func (o Options) postgres() PostgresOptions {
	return PostgresOptions{DataDir: o.part("postgres"), Port: o.PostgresPort, CacheDir: o.CacheDir, Logger: o.Logger}
}

// part is the folder of one part, empty where nothing is kept.
func (o Options) part(name string) string {
	if o.DataDir == "" {
		return ""
	}
	return filepath.Join(o.DataDir, name)
}

// loggerOrNone spares its users a check at each line.
func loggerOrNone(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return logger
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	return errors.Join(o.kafka().Validate(), o.registry().Validate(), o.postgres().Validate())
}

// A Stack is all that tieout needs: Kafka and a schema registry in this
// process, and a Postgres below it.
type Stack struct {
	Kafka    *Kafka
	Registry *Registry
	Postgres *Postgres // nil where DatabaseURL was given

	databaseURL string
	lock        *dirLock // nil where nothing is kept
}

// Start starts the three at once. The context bounds only the start; the stack
// runs until Close. After an error nothing is left running.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	s := &Stack{databaseURL: opts.DatabaseURL}
	if err := s.start(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // what was started ends, whatever the caller does
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, opts Options) error {
	if opts.DataDir != "" {
		if err := s.takeDir(opts.DataDir); err != nil {
			return err
		}
	}
	starting, ctx := errgroup.WithContext(ctx)
	starting.Go(func() (err error) {
		s.Kafka, err = StartKafka(ctx, opts.kafka())
		return err
	})
	starting.Go(func() (err error) {
		s.Registry, err = StartRegistry(ctx, opts.registry())
		return err
	})
	if opts.DatabaseURL == "" {
		starting.Go(func() (err error) {
			if s.Postgres, err = StartPostgres(ctx, opts.postgres()); err == nil {
				s.databaseURL = s.Postgres.URL()
			}
			return err
		})
	}
	return starting.Wait()
}

// takeDir makes the data folder and keeps other stacks out of it.
func (s *Stack) takeDir(dir string) error {
	account, err := unprivilegedAccount()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, homeMode(account)); err != nil {
		return err
	}
	s.lock, err = lockDir(dir)
	if errors.Is(err, errLocked) {
		return &DataInUseError{Dir: dir}
	}
	return err
}

// DatabaseURL is the address of the Postgres to use.
func (s *Stack) DatabaseURL() string { return s.databaseURL }

// Environment returns the variables, as NAME=value, under which tieout's
// commands use this stack.
func (s *Stack) Environment() []string {
	return []string{
		"DATABASE_URL=" + s.databaseURL,
		"TIEOUT_BROKERS=" + strings.Join(s.Kafka.Brokers(), ","),
		"TIEOUT_REGISTRY_URL=" + s.Registry.URL(),
	}
}

// Wait returns nil when the context ends, or the reason why a part of the
// stack ended before.
func (s *Stack) Wait(ctx context.Context) error {
	var exited <-chan struct{} // of nothing that could end, it never comes
	if s.Postgres != nil {
		exited = s.Postgres.Exited()
	}
	select {
	case <-ctx.Done():
		return nil
	case <-exited:
		return s.Postgres.exitError()
	}
}

// Close stops all parts at once and waits for them.
func (s *Stack) Close() error {
	var stopping errgroup.Group
	var kafkaErr, registryErr, postgresErr error
	if s.Kafka != nil {
		stopping.Go(func() error { kafkaErr = s.Kafka.Close(); return nil })
	}
	if s.Registry != nil {
		stopping.Go(func() error { registryErr = s.Registry.Close(); return nil })
	}
	if s.Postgres != nil {
		stopping.Go(func() error { postgresErr = s.Postgres.Stop(); return nil })
	}
	return errors.Join(stopping.Wait(), kafkaErr, registryErr, postgresErr, s.lock.release())
}
