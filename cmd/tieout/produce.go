package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/producer"
)

func newProduceCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "produce",
		Short: "Send a file of records",
		Example: `  tieout produce sales claims.csv.gz
  tieout produce trades trades.csv.gz`,
	}, newProduceSalesCommand(a), newProduceTradesCommand(a))
}

// produceFlags are the flags of produce that are nobody else's. A stream has
// only some of them.
type produceFlags struct {
	tier    string
	runID   string
	vendors string
	rejects string
	strict  bool
	dryRun  bool
}

// newProduceLinesCommand makes the command that sends a file of one stream's
// lines of what is particular to it, and adds the flags that all have.
func newProduceLinesCommand(a *app, lines producer.Lines, flags *produceFlags, cmd *cobra.Command) *cobra.Command {
	cmd.Long += `

A line that can't be a record goes to FILE.rejects.csv with its number, the field and value at fault and the reason; the others are sent, and the exit code is 3. Mended, the rejects file can be sent like any other.
The same file is the same run, however often it is sent: what is there already is skipped as a duplicate.`
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		required := []string{"brokers", "registry-url"}
		if flags.dryRun {
			required = nil
		}
		if args[0] == "-" {
			return usagef("standard input can't be sent, since a file is read twice: write it to a file first")
		}
		cfg, err := a.config(cmd, required...)
		if err != nil {
			return err
		}
		return a.produce(cmd.Context(), cfg, lines, args[0], *flags)
	}
	cmd.Flags().StringVar(&flags.runID, "run-id", "", "`name` of the batch (default: made from the file's content)")
	cmd.Flags().StringVar(&flags.rejects, "rejects", "", "`FILE` for the lines that are refused (default: FILE.rejects.csv); it takes the place of an earlier such file and of nothing else")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "check the whole file first, and send nothing if a line is refused")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "check the file and write the rejects file, but send nothing")
	return cmd
}

func (a *app) produce(ctx context.Context, cfg *config, lines producer.Lines, path string, flags produceFlags) error {
	delivery := producer.Delivery{
		Lines: lines, Path: path, RejectsPath: flags.rejects,
		Strict: flags.strict, DryRun: flags.dryRun, Progress: a.progressBar(path),
	}
	options, err := a.producerOptions(cfg, flags)
	if err != nil {
		return err
	}
	if flags.vendors != "" {
		if options.Vendors, err = producer.ReadVendors(ctx, flags.vendors); err != nil {
			return err
		}
	}
	delivery.Options = options
	if !flags.dryRun {
		if delivery.Options.Registry, err = openRegistry(cfg); err != nil {
			return err
		}
		defer delivery.Options.Registry.Close()
	}
	report, err := delivery.Run(ctx)
	if err != nil {
		return explainProduce(cfg, err)
	}
	if err := a.print(cfg, report, func(w io.Writer) error { return writeReport(w, report) }); err != nil {
		return err
	}
	if report.Rejected == 0 {
		return nil
	}
	verdict := fmt.Sprintf("%s of %s refused: %s says which and why",
		grouped(report.Rejected), counted(report.Lines, "line"), report.RejectsFile)
	if flags.strict && !flags.dryRun {
		verdict = "nothing is sent: " + verdict
	}
	return foundf("%s", verdict)
}

func (a *app) producerOptions(cfg *config, flags produceFlags) (options producer.Options, err error) {
	options = producer.Options{TopicPrefix: cfg.TopicPrefix, RunID: flags.runID}
	if flags.tier != "" {
		if options.Tier, err = producer.ParseTier(flags.tier); err != nil {
			return options, usagef("--tier: %w", err)
		}
	}
	if flags.runID != "" {
		if err := producer.CheckRunID(flags.runID); err != nil {
			return options, usagef("--run-id: %w", err)
		}
	}
	// What the client would warn of ends the command, in one line of its own.
	logger := a.logger(cfg)
	if cfg.slogLevel() > slog.LevelDebug {
		logger = slog.New(slog.DiscardHandler)
	}
	options.Client, err = kafkaOptions(cfg, logger)
	return options, err
}

// progressBar shows a person how much of the file is done; a pipe or a file
// gets nothing.
func (a *app) progressBar(path string) func(done, total int64) {
	if !isTerminal(a.stderr) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int64) {
		if bar == nil || bar.IsFinished() {
			if done == total {
				return
			}
			bar = progressbar.NewOptions64(total,
				progressbar.OptionSetWriter(a.stderr),
				progressbar.OptionSetDescription(filepath.Base(path)),
				progressbar.OptionShowBytes(true),
				progressbar.OptionThrottle(progressInterval),
				progressbar.OptionClearOnFinish(),
			)
		}
		_ = bar.Set64(done) // what can't be drawn isn't missed
	}
}

const progressInterval = 100 * time.Millisecond

// explainProduce says of an error of Kafka's what to look at, wherever in the
// delivery it came up.
func explainProduce(cfg *config, err error) error {
	var (
		broker   *producer.BrokerError
		delivery *producer.DeliveryError
	)
	if !errors.As(err, &broker) {
		return err
	}
	explained := explainKafka(cfg, broker.Err)
	if errors.As(err, &delivery) {
		return &producer.DeliveryError{Path: delivery.Path, Acknowledged: delivery.Acknowledged, Err: explained}
	}
	return explained
}

// writeReport says in words what became of a file.
func writeReport(w io.Writer, report producer.Report) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s", name)
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	line("file", "%s", report.File)
	line("run", "%s", report.RunID)
	line("delivery", "%s", report.Delivery)
	line("topic", "%s", report.Topic)
	line("lines", "%s", grouped(report.Lines))
	if report.DryRun {
		line("sent", "nothing: this is a dry run")
	} else {
		line("sent", "%s in %.1f s", grouped(report.Sent), report.Seconds)
	}
	if len(report.Partitions) > 0 {
		line("partitions", "%s", listCounts(report.Partitions, ": "))
	}
	line("rejected", "%s", grouped(report.Rejected))
	if report.Rejected > 0 {
		line("", "%s", listCounts(report.Reasons, " "))
		line("", "%s", report.RejectsFile)
	}
	if len(report.UnusedColumns) > 0 {
		line("not used", "%s", strings.Join(report.UnusedColumns, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// listCounts puts counts on one line, in the order of their names.
func listCounts[K cmp.Ordered](counts map[K]int64, between string) string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%v%s%d", name, between, counts[name]))
	}
	return strings.Join(parts, ", ")
}

// counted puts a number before its noun.
func counted(count int64, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return grouped(count) + " " + noun + "s"
}

// columnList lists the columns of a file, over a few lines.
func columnList(columns []string) string {
	const onALine = 6
	var rows []string
	for row := range slices.Chunk(columns, onALine) {
		rows = append(rows, "  "+strings.Join(row, ", "))
	}
	return strings.Join(rows, ",\n")
}
