package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// benchFlags are the flags of bench settle.
type benchFlags struct {
	records    int
	partitions int
}

func newBenchSettleCommand(a *app) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "settle",
		Short: "Measure how fast a worker settles, against the least that it has to do",
		Long: `Measure how fast a worker settles generated claims that all post, and what memory it takes.
It's held against the least that it has to do: the same rows copied into the same empty table, in the same run, without Kafka, duplicates, counters or offsets.

Kafka and the schema registry are inside of this process; the worker and Postgres are processes below it. With DATABASE_URL (TIEOUT_DATABASE_URL) set, that Postgres is used, in schemas of the benchmark's own that are dropped afterwards.
What is measured is reported, and never a failure.`,
		Example: `  tieout bench settle
  tieout bench settle --records 100000 --partitions 3 --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config(cmd)
			if err != nil {
				return err
			}
			return a.benchSettle(cmd.Context(), cfg, flags)
		},
	}
	cmd.Flags().IntVar(&flags.records, "records", 500_000, "how many claims to settle")
	cmd.Flags().IntVar(&flags.partitions, "partitions", 6, "partitions of each topic")
	return cmd
}

func (f *benchFlags) validate() error {
	const maxRecords = 10_000_000 // of which each is held in memory for a while
	switch {
	case f.records < 1 || f.records > maxRecords:
		return usagef("--records %d: from 1 to %d", f.records, maxRecords)
	case f.partitions < 1:
		return usagef("--partitions %d: at least 1", f.partitions)
	}
	return nil
}

func (a *app) benchSettle(ctx context.Context, cfg *config, flags benchFlags) error {
	if err := flags.validate(); err != nil {
		return err
	}
	b := a.newSettleBench(cfg, flags)
	err := b.run(ctx, b.phases())
	if left := b.sandbox.close(ctx); left != nil {
		return fmt.Errorf("the benchmark couldn't take everything away: %v", left) //nolint:errorlint // that it was interrupted says less
	}
	if err != nil {
		return err
	}
	return a.print(cfg, &b.report, b.report.write)
}

// A settleBench is one run of the benchmark.
type settleBench struct {
	app     *app
	sandbox *sandbox
	flags   benchFlags
	report  benchReport
}

func (a *app) newSettleBench(cfg *config, flags benchFlags) *settleBench {
	return &settleBench{
		app: a, sandbox: a.newSandbox(cfg, "bench"), flags: flags,
		report: benchReport{
			Records: flags.records, Partitions: flags.partitions,
			Wanted: benchWanted{Ratio: wantedRatio, MemoryMiB: wantedMemoryMiB},
		},
	}
}

// benchLane is the lane whose worker is measured: where produce sends to.
func benchLane() settle.Lane {
	lanes := lanesOf("sales")
	return lanes[len(lanes)-1]
}

// The limit is measured as this says, whatever the worker itself does.
const (
	limitConnections = 2
	limitBatchRows   = 20_000
)

func (b *settleBench) phases() []phase {
	return []phase{
		{"start", "starting Postgres, Kafka and a schema registry", b.sandbox.start},
		{"measure the limit", "measuring the limit: copying alone", b.measureLimit},
		{"setup", "making tables, topics and subjects", b.setUp},
		{"produce", "sending the claims", b.send},
		{"settle", "measuring a worker", b.measureWorker},
		{"verify", "counting what came of it", b.verify},
	}
}

func (b *settleBench) run(ctx context.Context, phases []phase) error {
	return b.app.runPhases(ctx, phases, func(phase, time.Duration) {})
}

func (b *settleBench) setUp(ctx context.Context) error {
	_, err := b.sandbox.install(ctx, b.flags.partitions)
	return err
}

// measureLimit copies the rows into an empty ledger, in a schema that is there
// for nothing else.
func (b *settleBench) measureLimit(ctx context.Context) (err error) {
	where := b.sandbox.migrateOptions()
	where.Schema += "_limit"
	where.OwnerRole, where.WorkerRole = where.Schema+"_owner", where.Schema+"_worker"
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sandboxPatience)
		defer cancel()
		if dropped := ledger.Drop(ctx, where); err == nil {
			err = dropped
		}
	}()
	if _, err := ledger.Migrate(ctx, where); err != nil {
		return err
	}
	entries, err := benchEntries(ctx, b.flags.records)
	if err != nil {
		return err
	}
	lane := benchLane()
	l, err := ledger.Open(ctx, ledger.Options{
		URL: where.URL, Schema: where.Schema, Role: where.WorkerRole,
		ConsumerGroup: b.sandbox.cfg.GroupPrefix + lane.Topic, Table: lane.Stream.Table(), Stream: lane.Stream.Name(),
		MaxConns: limitConnections, ApplicationName: "tieout bench", Logger: b.sandbox.logger,
	})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.RegisterRules(ctx, ledger.Rules{BinaryVersion: version}); err != nil {
		return err
	}
	started := time.Now()
	if err := l.CopyAlone(ctx, entries, limitBatchRows); err != nil {
		return err
	}
	took := time.Since(started)
	b.report.Limit = benchRate{Seconds: seconds(took), Rate: rate(int64(len(entries)), took)}
	// What comes now is measured with a broker in this process: it shouldn't
	// have to collect this garbage.
	clear(entries)
	debug.FreeOSMemory()
	return nil
}
