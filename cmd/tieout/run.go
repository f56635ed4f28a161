package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tieout/tieout/pkg/pipeline"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/telemetry"
	"github.com/tieout/tieout/streams"
)

// defaultParallelism keeps Postgres and two cores busy, and asks for few
// connections.
const defaultParallelism = 4

// defaultBatchRecords amortise a Kafka transaction and a Postgres commit;
// beyond maxBatchRecords a batch would hold a rebalance up.
const (
	defaultBatchRecords = 20_000
	maxBatchRecords     = 200_000
)

// runFlags are the flags of run that are nobody else's.
type runFlags struct {
	instance     string
	drain        bool
	http         string
	parallelism  int
	batchRecords int
	startTimeout time.Duration
}

// Bounds of the flags. More partitions at a time than these bring nothing on
// any machine, and Postgres' connections run out. An instance's name is part of
// a transactional id and of log lines.
const (
	maxParallelism   = 64
	maxInstanceBytes = 100
)

// validate names the first flag that can't be meant. named tells whether the
// instance was given a name.
func (f *runFlags) validate(named bool) error {
	switch {
	case named && f.instance == "":
		return usagef("--instance is empty: give a name that no other worker has, or leave it out")
	case !utf8.ValidString(f.instance) || strings.ContainsFunc(f.instance, func(r rune) bool { return !unicode.IsPrint(r) }):
		return usagef("--instance %q has characters that can't be printed: give a name of letters, digits and hyphens", f.instance)
	case len(f.instance) > maxInstanceBytes:
		return usagef("--instance is %d bytes long: at most %d", len(f.instance), maxInstanceBytes)
	case f.parallelism < 1 || f.parallelism > maxParallelism:
		return usagef("--parallelism %d: between 1 and %d", f.parallelism, maxParallelism)
	case f.batchRecords < 1 || f.batchRecords > maxBatchRecords:
		return usagef("--batch-records %d: between 1 and %d", f.batchRecords, maxBatchRecords)
	}
	if f.http == "" {
		return nil
	}
	if _, err := telemetry.Address(f.http); err != nil {
		return usagef("--http: %w", err)
	}
	return nil
}

func newRunCommand(a *app) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [LANE...]",
		Short: "Settle what arrives on the lanes' topics, until stopped",
		Long: `Settle what arrives on the lanes' topics: into the ledger, and on to the outcome topics, each exactly once.
Without a LANE it settles all of them: ` + strings.Join(laneNames(), ", ") + `.

A stop (SIGTERM, Ctrl-C, a closed terminal) finishes the batch in hand, commits it and leaves the group within 10 seconds; a second one ends at once, and nothing is lost by it.
A database, broker or registry that is away pauses the partitions until it is back.`,
		Example: `  tieout run                                # all lanes
  tieout run validate --http 127.0.0.1:9464 # one lane, with /metrics, /healthz and /readyz
  tieout run --drain                        # until nothing is left to settle
  tieout run --instance worker-1            # a name that a restart takes over at once`,
		ValidArgs: laneNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config(cmd, "database-url", "brokers", "registry-url")
			if err != nil {
				return err
			}
			lanes, err := selectLanes(args)
			if err != nil {
				return err
			}
			if err := flags.validate(cmd.Flags().Changed("instance")); err != nil {
				return err
			}
			return a.runLanes(cmd.Context(), cfg, lanes, flags)
		},
	}
	cmd.Flags().StringVar(&flags.instance, "instance", "", "`name` of this worker: a restart under the same name takes over at once (default: drawn at random)")
	cmd.Flags().BoolVar(&flags.drain, "drain", false, "end when nothing is left to settle")
	cmd.Flags().StringVar(&flags.http, "http", "", "serve /metrics, /healthz and /readyz on `ADDR`; without a host, on loopback")
	cmd.Flags().IntVar(&flags.parallelism, "parallelism", defaultParallelism, "partitions of a lane that are settled at a time; each takes a database connection")
	cmd.Flags().IntVar(&flags.batchRecords, "batch-records", defaultBatchRecords, "records of a lane that are settled at a time: fewer take less memory, more settle faster")
	cmd.Flags().DurationVar(&flags.startTimeout, "start-timeout", 2*time.Minute, "how long to wait for a database, broker or registry that is away at the start")
	return cmd
}

// runLanes settles lanes until ctx ends, a drain is done, or one can't go on.
func (a *app) runLanes(ctx context.Context, cfg *config, lanes []settle.Lane, flags runFlags) error {
	own := flags.instance == ""
	if own {
		flags.instance = strings.ToLower(ulid.Make().String())
	}
	logger := a.logger(cfg)
	measured, err := telemetry.Setup(ctx, telemetry.Options{
		Version: version, Instance: flags.instance, Environment: a.env, Logger: quietLogger(logger),
	})
	if err != nil {
		return err
	}
	defer func() {
		// What could not be exported on the way out is lost, and told.
		if err := measured.Shutdown(context.WithoutCancel(ctx)); err != nil {
			logger.Warn("telemetry not exported", "error", err)
		}
	}()
	limitMemory(a.env)
	meter := newMeter(measured.Instruments)
	set := &workerSet{
		cfg: cfg, logger: logger, telemetry: measured, metrics: meter, tracer: measured.Tracer(), instance: flags.instance, instanceIsOwn: own,
		drain: flags.drain, parallelism: flags.parallelism, batchRecords: flags.batchRecords, startTimeout: flags.startTimeout,
	}
	defer set.close()
	server, err := set.serve(ctx, flags.http)
	if err != nil {
		return err
	}
	if server != nil {
		defer server.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is to be done about a connection that won't end
	}
	if err := set.open(ctx, lanes); err != nil {
		if ctx.Err() != nil {
			return nil // a stop that came before there was anything to do
		}
		return err
	}
	err = set.run(ctx)
	logger.InfoContext(ctx, stoppedMessage, meter.reading().attributes()...)
	return err
}

// memoryLimit has the collector run before the process takes more than 256 MiB:
// what is live is far less, but a burst of large records leaves much behind.
const memoryLimit = 208 << 20

// limitMemory sets the collector's limit, unless the user has (GOMEMLIMIT).
func limitMemory(env []string) {
	if lookupEnv(env, "GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// run runs the workers side by side; the first that can't go on stops the
// others in good order.
func (s *workerSet) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range s.workers {
		group.Go(func() error { return w.Run(ctx) })
	}
	return explainRun(group.Wait())
}

// explainRun says of an error that ended a worker what to do.
func explainRun(err error) error {
	var (
		topic  *pipeline.TopicError
		halted *pipeline.HaltedError
	)
	switch {
	case err == nil, errors.As(err, &topic), errors.As(err, &halted):
		return err
	case errors.Is(err, pipeline.ErrFencedByName):
		return fmt.Errorf("%w: give each worker an --instance of its own", err)
	case errors.Is(err, context.Canceled):
		return nil
	default:
		return err
	}
}

func laneNames() []string {
	lanes := streams.Lanes()
	names := make([]string, len(lanes))
	for i, lane := range lanes {
		names[i] = lane.Name
	}
	return names
}

// selectLanes finds the lanes that were named, or all.
func selectLanes(names []string) ([]settle.Lane, error) {
	all := streams.Lanes()
	if len(names) == 0 {
		return all, nil
	}
	var selected []settle.Lane
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		i := slices.IndexFunc(all, func(l settle.Lane) bool { return l.Name == name })
		if i < 0 {
			return nil, usagef("there is no lane %q: %sthere are %s", name, didYouMean(name, laneNames(), ""), strings.Join(laneNames(), ", "))
		}
		selected = append(selected, all[i])
	}
	return selected, nil
}
