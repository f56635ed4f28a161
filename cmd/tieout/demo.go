package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/telemetry"
	"github.com/tieout/tieout/testdata"
)

func newDemoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Settle a month of real claims on this machine, and show what came of them",
		Long: `Settle a month of real claims on this machine, and show what came of them.
Kafka and the schema registry are inside of this process, and Postgres is below it. With DATABASE_URL (TIEOUT_DATABASE_URL) set, that Postgres is used: in a schema and with roles of the demo's own, which are dropped afterwards.

It does what setup, produce and run do: the file is sent and settled, and each of its lines is held against what was computed of it elsewhere, in Postgres and on the outcome topics. Then the whole file is sent again, and nothing more is posted.
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
	d := &demo{app: a, user: cfg}
	err := d.run(ctx, d.phases())
	if left := d.close(ctx); left != nil {
		// Not wrapped: that the demo was interrupted says less than what is left.
		return fmt.Errorf("the demo couldn't take everything away: %v", left) //nolint:errorlint // see above
	}
	if err != nil {
		return err
	}
	return d.show()
}

// A demo is one run of the demo.
type demo struct {
	app     *app
	user    *config
	sandbox *sandbox
	path    string // of the file of claims
	tie     *tie
	report  demoReport
}

// phases are those that a user would go through.
func (d *demo) phases() []phase {
	return []phase{
		{"start", "starting Postgres, Kafka and a schema registry", d.start},
		{"setup", "making tables, topics and subjects", d.setUp},
		{"produce", "sending the file", d.produce},
		{"settle", "settling", d.settle},
		{"compare", "comparing each line", d.compare},
		{"produce again", "sending the file again", d.produce},
		{"settle again", "settling it again", d.settle},
		{"compare again", "comparing each line again", d.compare},
	}
}

func (d *demo) run(ctx context.Context, phases []phase) error {
	return d.app.runPhases(ctx, phases, func(p phase, took time.Duration) {
		d.report.Phases = append(d.report.Phases, demoPhase{Name: p.name, Seconds: seconds(took)})
	})
}

// show prints the report. That a line doesn't tie is a failure.
func (d *demo) show() error {
	if err := d.app.print(d.user, &d.report, d.report.write); err != nil {
		return err
	}
	if n := len(d.report.Differences); n > 0 {
		return fmt.Errorf("what was settled is not what the file expects: %s", counted(int64(n), "difference"))
	}
	return nil
}

// demoPartitions is what setup makes where nobody says otherwise.
const demoPartitions = 6

func (d *demo) start(ctx context.Context) (err error) {
	d.sandbox = d.app.newSandbox(d.user, "demo")
	if err := d.sandbox.start(ctx); err != nil {
		return err
	}
	d.path = filepath.Join(d.sandbox.dir, testdata.SalesFile)
	if err := os.WriteFile(d.path, testdata.Sales, 0o600); err != nil {
		return err
	}
	if d.report.Expected, err = readDemoFigures(); err != nil {
		return err
	}
	lines, err := readDemoLines()
	d.tie = newTie(lines)
	return err
}

func (d *demo) setUp(ctx context.Context) error {
	_, err := d.sandbox.install(ctx, demoPartitions)
	return err
}

// produce sends the file, as `tieout produce sales` does.
func (d *demo) produce(ctx context.Context) error {
	cfg := d.sandbox.cfg
	options, err := d.app.producerOptions(cfg, produceFlags{tier: string(producer.ComputeHeavy)})
	if err != nil {
		return err
	}
	if options.Registry, err = openRegistry(cfg); err != nil {
		return err
	}
	defer options.Registry.Close()
	sent, err := producer.Delivery{Lines: producer.SalesLines{}, Path: d.path, Progress: d.app.progressBar(d.path), Options: options}.Run(ctx)
	if err != nil {
		return explainProduce(cfg, err)
	}
	d.tie.sent(sent.RunID, sent.Delivery)
	d.report.File, d.report.RunID = testdata.SalesFile, sent.RunID
	d.report.Deliveries = append(d.report.Deliveries, demoDelivery{Delivery: sent.Delivery, Sent: sent.Sent, Rejected: sent.Rejected})
	return nil
}

// settle runs the workers of the stream's lanes until nothing is left, as `tieout run
// --drain` does.
func (d *demo) settle(ctx context.Context) error {
	instruments, err := telemetry.NewInstruments(noop.NewMeterProvider().Meter(""))
	if err != nil {
		return err
	}
	meter := newMeter(instruments)
	set := &workerSet{
		cfg: d.sandbox.cfg, logger: d.sandbox.logger, metrics: meter,
		instance: strings.ToLower(ulid.Make().String()), instanceIsOwn: true,
		drain: true, parallelism: defaultParallelism,
	}
	defer set.close()
	if err := set.open(ctx, salesLanes()); err != nil {
		return err
	}
	if err := set.run(ctx); err != nil {
		return err
	}
	d.report.Deliveries[len(d.report.Deliveries)-1].took(meter.reading())
	return nil
}

// close takes everything away. The workers have ended by now.
func (d *demo) close(ctx context.Context) error {
	if d.sandbox == nil {
		return nil
	}
	return d.sandbox.close(ctx)
}
