package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// setupFlags are the flags of setup that are nobody else's.
type setupFlags struct {
	partitions   int
	replication  int
	retention    time.Duration
	dryRun       bool
	startTimeout time.Duration
}

func newSetupCommand(a *app) *cobra.Command {
	var flags setupFlags
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Make the tables, topics and subjects that tieout needs",
		Long: `Make the tables and roles, topics and registry subjects that tieout needs, where they are missing.
What is there is checked and left as it is. It may run at any time, also many times at once, and comes before the workers of a new version.`,
		Example: `  tieout setup --dry-run                      # what would be done
  tieout setup
  tieout setup --partitions 12 --replication 3 --retention 720h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config(cmd, "database-url", "brokers", "registry-url")
			if err != nil {
				return err
			}
			return a.setUp(cmd.Context(), cfg, flags)
		},
	}
	cmd.Flags().IntVar(&flags.partitions, "partitions", 6, "partitions of a new topic: the most workers that can share it")
	cmd.Flags().IntVar(&flags.replication, "replication", 1, "replicas of a new topic; -1: the cluster's default")
	cmd.Flags().DurationVar(&flags.retention, "retention", 0, "how long a new topic keeps records (default: the cluster's)")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().DurationVar(&flags.startTimeout, "start-timeout", 0, "how long to wait for a database, broker or registry that is away (default: not at all)")
	return cmd
}

// A setupStep is one line of what setup did.
type setupStep struct {
	Kind   string `json:"kind"` // database, topic, subject
	Name   string `json:"name"`
	State  string `json:"state"` // made, there, or in a dry run missing
	Detail string `json:"detail,omitempty"`
}

const (
	stateMade    = "made"
	stateThere   = "there"
	stateMissing = "missing"
)

func (a *app) setUp(ctx context.Context, cfg *config, flags setupFlags) error {
	i := &installer{cfg: cfg, flags: flags, logger: a.logger(cfg)}
	options := i.provisionOptions()
	if err := options.Validate(); err != nil {
		return &usageError{err}
	}
	steps, err := i.install(ctx)
	if err != nil {
		return err
	}
	return a.print(cfg, steps, func(w io.Writer) error { return writeSteps(w, steps, flags.dryRun) })
}

func writeSteps(w io.Writer, steps []setupStep, dryRun bool) error {
	t := newTable(w, "KIND", "NAME", "STATE", "DETAIL")
	missing := 0
	for _, step := range steps {
		t.AppendRow([]any{step.Kind, step.Name, step.State, step.Detail})
		if step.State == stateMissing {
			missing++
		}
	}
	t.Render()
	if !dryRun {
		return nil
	}
	verdict := "Nothing is missing."
	if missing > 0 {
		verdict = fmt.Sprintf("Nothing was done. Without --dry-run, what is missing would be made: %d.", missing)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", verdict)
	return err
}
