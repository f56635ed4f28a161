package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newDemoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Settle a month of real claims and one of trades on this machine, and show what came of them",
		Long: `Settle a month of real claims and one of energy trades on this machine, and show what came of them.
Kafka and the schema registry are inside of this process, and Postgres is below it. With DATABASE_URL (TIEOUT_DATABASE_URL) set, that Postgres is used: in a schema and with roles of the demo's own, which are dropped afterwards.

It does what setup, produce, run and reconcile do: each file is sent and settled, and each of its lines is held against what was computed of it elsewhere, in Postgres and on the outcome topics. Then the whole file is sent again, and nothing more is posted.
The trades are compared with the market operator's statement, and once more with one amount of it altered, to show what a difference looks like. The exit code is 1 where anything isn't as it must be.
Nothing is left behind, also after Ctrl-C.`,
		Example: `  tieout demo
  tieout demo --format json
  DATABASE_URL=postgres://localhost/test tieout demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config(cmd)
			if err != nil {
				return err
			}
			return a.runDemo(cmd.Context(), cfg)
		},
	}
}

func (a *app) runDemo(ctx context.Context, cfg *config) error {
	d := a.newDemo(cfg, claimsOfTheDemo(), tradesOfTheDemo())
	err := d.run(ctx, d.phases())
	if left := d.sandbox.close(ctx); left != nil {
		// Not wrapped: that the demo was interrupted says less than what is left.
		return fmt.Errorf("the demo couldn't take everything away: %v", left) //nolint:errorlint // see above
	}
	if err != nil {
		return err
	}
	return d.show()
}

// A demo is one run of the demo: a few files, one after the other, in one
// installation.
type demo struct {
	app     *app
	user    *config
	sandbox *sandbox
	runs    []*demoRun
	report  demoReport
}

func (a *app) newDemo(user *config, files ...demoFile) *demo {
	d := &demo{app: a, user: user, sandbox: a.newSandbox(user, "demo")}
	for _, file := range files {
		run := &demoRun{app: a, sandbox: d.sandbox, file: file}
		d.runs = append(d.runs, run)
		d.report.Streams = append(d.report.Streams, &run.report)
	}
	return d
}

// ofStream stands between the name of a stream and that of what is done with
// its file, in the name of a phase.
const ofStream = ": "

// phases are those that a user would go through.
func (d *demo) phases() []phase {
	phases := []phase{
		{"start", "starting Postgres, Kafka and a schema registry", d.start},
		{"setup", "making tables, topics and subjects", d.setUp},
	}
	for _, run := range d.runs {
		for _, p := range run.phases() {
			p.name = run.file.stream + ofStream + p.name
			phases = append(phases, p)
		}
	}
	return phases
}

func (d *demo) run(ctx context.Context, phases []phase) error {
	return d.app.runPhases(ctx, phases, func(p phase, took time.Duration) {
		shown := demoPhase{Name: p.name, Seconds: seconds(took)}
		if stream, name, found := strings.Cut(p.name, ofStream); found {
			shown.Stream, shown.Name = stream, name
		}
		d.report.Phases = append(d.report.Phases, shown)
	})
}

// show prints the report. That something doesn't tie is a failure.
func (d *demo) show() error {
	if err := d.app.print(d.user, &d.report, d.report.write); err != nil {
		return err
	}
	if n := d.report.differences(); n > 0 {
		return fmt.Errorf("what was settled is not what was expected: %s", counted(n, "difference"))
	}
	return nil
}

// demoPartitions is what setup makes where nobody says otherwise.
const demoPartitions = 6

func (d *demo) start(ctx context.Context) error {
	if err := d.sandbox.start(ctx); err != nil {
		return err
	}
	for _, run := range d.runs {
		if err := run.prepare(); err != nil {
			return fmt.Errorf("%s: %w", run.file.name, err)
		}
	}
	return nil
}

func (d *demo) setUp(ctx context.Context) error {
	_, err := d.sandbox.install(ctx, demoPartitions)
	return err
}
