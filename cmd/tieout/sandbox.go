package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/ledger"
)

// A sandbox is an installation that lasts as long as one command: Kafka and a
// schema registry inside of this process, and a Postgres below it, or else a
// schema and roles of its own on the Postgres that the configuration names.
type sandbox struct {
	cfg    *config // what a command reads that works in it
	logger *slog.Logger
	name   string // of the schema, and what files are called by
	cache  string // where a downloaded Postgres is kept; empty: the user's cache
	dir    string // for files
	stack  *devstack.Stack

	borrowed  bool // the Postgres goes on running
	installed bool // all of it or some
}

// sandboxPatience bounds the way out: a Postgres that is away isn't waited for
// for ever.
const sandboxPatience = 30 * time.Second

// newSandbox makes one that isn't started. Of the user's configuration it takes
// the database, how to log and how to print: nothing else in it may lead to
// another installation.
func (a *app) newSandbox(user *config, purpose string) *sandbox {
	name := "tieout_" + purpose + "_" + strings.ToLower(rand.Text()[:10])
	return &sandbox{
		cfg: &config{
			DatabaseURL: user.DatabaseURL, Schema: name, OwnerRole: name + "_owner", WorkerRole: name + "_worker",
			SameVersion: sameVersionReject, GroupPrefix: "tieout.", LogLevel: user.LogLevel, LogFormat: user.LogFormat, Format: user.Format,
		},
		logger: quietLogger(a.logger(user)), name: name, cache: lookupEnv(a.env, variableOf("cache")), borrowed: user.DatabaseURL != "",
	}
}

// start starts what is needed. close is called in any case.
func (s *sandbox) start(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", s.name+"_"); err != nil {
		return fmt.Errorf("a folder for files: %w", err)
	}
	s.stack, err = devstack.Start(ctx, devstack.Options{DatabaseURL: s.cfg.DatabaseURL, CacheDir: s.cache, Logger: s.logger})
	if err != nil {
		return err
	}
	s.cfg.DatabaseURL = s.stack.DatabaseURL()
	s.cfg.Brokers = s.stack.Kafka.Brokers()
	s.cfg.RegistryURL = s.stack.Registry.URL()
	return nil
}

// install sets the installation up, as `tieout setup` does.
func (s *sandbox) install(ctx context.Context, partitions int) ([]setupStep, error) {
	i := &installer{cfg: s.cfg, flags: setupFlags{partitions: partitions, replication: 1}, logger: s.logger}
	steps, err := i.install(ctx)
	var unreached *ledger.ConnectError
	s.installed = !errors.As(err, &unreached) // else there is nothing, and nobody to drop it
	return steps, err
}

func (s *sandbox) migrateOptions() ledger.MigrateOptions {
	return ledger.MigrateOptions{
		URL: s.cfg.DatabaseURL, Schema: s.cfg.Schema, OwnerRole: s.cfg.OwnerRole, WorkerRole: s.cfg.WorkerRole,
	}
}

// close takes away everything that start and install made, also where they were
// interrupted. Workers have ended by now.
func (s *sandbox) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sandboxPatience)
	defer cancel()
	var failures []error
	if s.installed && s.borrowed {
		failures = append(failures, ledger.Drop(ctx, s.migrateOptions()))
	}
	if s.stack != nil {
		failures = append(failures, s.stack.Close())
	}
	if s.dir != "" {
		failures = append(failures, os.RemoveAll(s.dir))
	}
	return errors.Join(failures...)
}
