package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/devstack"
)

// devFlags are the flags of dev that are nobody else's.
type devFlags struct {
	data                                  string
	kafkaPort, registryPort, postgresPort int
	partitions                            int
}

func newDevCommand(a *app) *cobra.Command {
	var flags devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run Kafka, a schema registry and Postgres on this machine, set up for tieout",
		Long: `Run Kafka, a schema registry and Postgres on this machine, set up for tieout, until stopped.
Kafka and the registry are embedded and listen on loopback alone. Postgres is this machine's own, or else a build that is downloaded once, checked and kept in a cache (TIEOUT_CACHE); with DATABASE_URL it is the server named there, in a schema of dev's own.

Stdout gets what other terminals need, as export lines. All is gone at the end, unless --data keeps it.`,
		Example: `  tieout dev                   # paste the export lines into another terminal
  tieout dev --data ./dev-data # kept over restarts
  tieout dev --kafka-port 9092 --registry-port 8081 --postgres-port 5432`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config(cmd)
			if err != nil {
				return err
			}
			return a.dev(cmd.Context(), cfg, flags)
		},
	}
	cmd.Flags().StringVar(&flags.data, "data", "", "keep everything in `DIR`, over restarts")
	cmd.Flags().IntVar(&flags.kafkaPort, "kafka-port", 0, "`port` of Kafka (default: a free one)")
	cmd.Flags().IntVar(&flags.registryPort, "registry-port", 0, "`port` of the schema registry (default: a free one)")
	cmd.Flags().IntVar(&flags.postgresPort, "postgres-port", 0, "`port` of Postgres (default: a free one)")
	cmd.Flags().IntVar(&flags.partitions, "partitions", 6, "partitions of a new topic")
	return cmd
}

// dev runs the stack until ctx ends or a part of it does.
func (a *app) dev(ctx context.Context, cfg *config, flags devFlags) (err error) {
	if cfg.TLS || cfg.SASLMechanism != "" {
		return usagef("dev's Kafka takes neither TLS nor a password: leave out tls and sasl-mechanism")
	}
	s, err := a.openDevStack(ctx, cfg, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if _, err := s.install(ctx, flags.partitions); err != nil {
		if cfg.DatabaseURL != "" && ctx.Err() == nil {
			return fmt.Errorf("%w (unset DATABASE_URL for a Postgres of dev's own)", err)
		}
		return err
	}
	variables := devVariables(s)
	if err := a.print(s.cfg, variables, func(w io.Writer) error { return writeExports(w, variables) }); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "tieout: all is up and set up; Ctrl-C ends it")
	return s.stack.Wait(ctx)
}

// openDevStack starts the servers. What it returns is closed as a sandbox is:
// on a Postgres of somebody else's the schema goes away, unless the rest of the
// installation is kept.
func (a *app) openDevStack(ctx context.Context, user *config, flags devFlags) (*sandbox, error) {
	logger := a.logger(user)
	options := devstack.Options{
		DataDir: flags.data, DatabaseURL: user.DatabaseURL,
		KafkaPort: flags.kafkaPort, RegistryPort: flags.registryPort, PostgresPort: flags.postgresPort,
		CacheDir: lookupEnv(a.env, variableOf("cache")), Logger: logger,
	}
	if err := options.Validate(); err != nil {
		return nil, &usageError{err}
	}
	cfg := *user
	if user.DatabaseURL != "" {
		var err error
		if cfg.Schema, err = devSchema(flags.data); err != nil {
			return nil, err
		}
		cfg.OwnerRole, cfg.WorkerRole = cfg.Schema+"_owner", cfg.Schema+"_worker"
	}
	stack, err := devstack.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	cfg.DatabaseURL, cfg.Brokers, cfg.RegistryURL = stack.DatabaseURL(), stack.Kafka.Brokers(), stack.Registry.URL()
	cfg.RegistryUsername, cfg.RegistryPassword = "", ""
	return &sandbox{
		cfg: &cfg, logger: quietLogger(logger), stack: stack,
		borrowed: user.DatabaseURL != "" && flags.data == "",
	}, nil
}

// devSchema names a schema on a Postgres of somebody else's: one for each data
// folder, since a ledger belongs to the topics that it was settled from.
func devSchema(data string) (string, error) {
	if data == "" {
		return "tieout_dev_" + strings.ToLower(rand.Text()[:10]), nil
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(data))
	return "tieout_dev_" + hex.EncodeToString(sum[:5]), nil
}

// A variable is one that another terminal needs.
type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// devVariables are the stack's addresses, and the names under which it was set
// up. TIEOUT_DATABASE_URL is among them because it counts more than
// DATABASE_URL, and a terminal may have one already.
func devVariables(s *sandbox) []variable {
	var variables []variable
	for _, entry := range s.stack.Environment() {
		name, value, _ := strings.Cut(entry, "=")
		variables = append(variables, variable{name, value})
	}
	for _, of := range []struct{ key, value string }{
		{"database-url", s.cfg.DatabaseURL},
		{"schema", s.cfg.Schema},
		{"owner-role", s.cfg.OwnerRole},
		{"worker-role", s.cfg.WorkerRole},
		{"topic-prefix", s.cfg.TopicPrefix},
		{"group-prefix", s.cfg.GroupPrefix},
	} {
		variables = append(variables, variable{variableOf(of.key), of.value})
	}
	return variables
}

func writeExports(w io.Writer, variables []variable) error {
	for _, v := range variables {
		if _, err := fmt.Fprintf(w, "export %s=%s\n", v.Name, shellWord(v.Value)); err != nil {
			return err
		}
	}
	return nil
}

// shellWord quotes a value where a shell would take it for more than a word.
func shellWord(value string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@=,+%?"
	if strings.Trim(value, plain) == "" {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
