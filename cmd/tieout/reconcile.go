package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/reconcile"
)

// reconcileFlags are the flags of reconcile that are nobody else's.
type reconcileFlags struct {
	from, to     string
	nodes        []string
	tolerance    string
	columns      map[string]string
	openDisputes bool
	yes          bool
}

func newReconcileCommand(a *app) *cobra.Command {
	var flags reconcileFlags
	cmd := &cobra.Command{
		Use:   "reconcile STATEMENT",
		Short: "Compare a market operator's statement with the ledger of trades",
		Long: `Compare a market operator's statement with the ledger of trades: for each trade and interval the newest version, never the sum of versions. The statement is CSV, gzipped or not, in any order. It has the columns
` + columnList(reconcile.RequiredColumns()) + `,
and what it has of
` + columnList(reconcile.OptionalColumns()) + `
is compared, too. Without a column of nodes a line is compared with the sum over all nodes of its trade and interval.

A difference is of the first class that explains it: duplicate_in_statement, missing_in_ledger, missing_in_statement, rounding (at most a cent, and exactly mwh x price rounded in another way), stale_version (exactly the amount of an older version), quantity, price, or else amount.
The exit code is 0 if all ties and 3 if not. A line that can't be read is named with its place, and nothing is compared.

Without --from and --to, all of the ledger is compared: what the statement doesn't have is missing in it. With --open-disputes each finding is enqueued for the lane findings, which settles it once, however often it's found.`,
		Example: `  tieout reconcile june.csv.gz --from 2019-06-01T00:00:00-04:00 --to 2019-07-01T00:00:00-04:00
  tieout reconcile june.csv --columns amount=charge,settlement_interval=start --tolerance 0.01
  tieout reconcile june.csv --node CAPITL --format csv > findings.csv
  tieout reconcile june.csv --open-disputes --yes`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{csvAnnotation: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := flags.options()
			if err != nil {
				return err
			}
			if args[0] == "-" {
				return usagef("standard input can't be compared, since a file is read twice: write it to a file first")
			}
			required := []string{"database-url"}
			if flags.openDisputes && flags.yes {
				required = append(required, "brokers", "registry-url")
			}
			cfg, err := a.config(cmd, required...)
			if err != nil {
				return err
			}
			return a.reconcile(cmd.Context(), cfg, args[0], flags, options)
		},
	}
	cmd.Flags().StringVar(&flags.from, "from", "", "compare intervals that start at `TIME` or later: RFC 3339, or a date in UTC")
	cmd.Flags().StringVar(&flags.to, "to", "", "compare intervals that start before `TIME`")
	cmd.Flags().StringArrayVar(&flags.nodes, "node", nil, "compare only this `NODE`; may be given many times")
	cmd.Flags().StringVar(&flags.tolerance, "tolerance", "0.00", "by how much two `AMOUNT`s may differ and still tie")
	cmd.Flags().StringToStringVar(&flags.columns, "columns", nil, "`NAME=COLUMN`, several between commas: where the statement has other names for its columns")
	cmd.Flags().BoolVar(&flags.openDisputes, "open-disputes", false, "enqueue each finding, to be settled as a dispute; needs --yes")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do so")
	return cmd
}

// options reads the flags.
func (f *reconcileFlags) options() (o reconcile.Options, err error) {
	if f.yes && !f.openDisputes {
		return o, usagef("--yes is for --open-disputes: give both, or neither")
	}
	o.Scope.Nodes = f.nodes
	for _, bound := range []struct {
		flag, text string
		into       *string
	}{{"from", f.from, &o.Scope.From}, {"to", f.to, &o.Scope.To}} {
		if *bound.into, err = parseBound(bound.text); err != nil {
			return o, usagef("--%s: %w", bound.flag, err)
		}
	}
	if o.Tolerance, err = money.Parse(f.tolerance); err != nil {
		return o, usagef("--tolerance: %w", err)
	}
	if err := o.Validate(); err != nil {
		return o, &usageError{err}
	}
	return o, nil
}

// parseBound reads a date and time as RFC 3339 has it, or a date alone, which is
// its first moment in UTC.
func parseBound(text string) (string, error) {
	const dateOnly = "2006-01-02"
	if text == "" {
		return "", nil
	}
	moment := text
	if len(text) == len(dateOnly) {
		moment += "T00:00:00Z"
	}
	interval, failure := producer.ParseInterval("time", moment)
	if failure != nil {
		return "", fmt.Errorf("%q is neither a time of RFC 3339, such as 2019-06-01T00:00:00-04:00, nor a date", text)
	}
	return interval, nil
}

// reconcile compares, shows what came of it, and opens disputes where that is
// asked for.
func (a *app) reconcile(ctx context.Context, cfg *config, path string, flags reconcileFlags, options reconcile.Options) (err error) {
	statement, err := reconcile.OpenStatement(ctx, path, flags.columns)
	if err != nil {
		return explainStatement(err)
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	book, err := openBook(ctx, cfg, lanesOf("trades")[0], "reconcile", a.logger(cfg))
	if err != nil {
		return err
	}
	defer book.Close()
	var disputes *disputeOpening
	if flags.openDisputes && flags.yes {
		if disputes, err = a.openDisputes(ctx, cfg, statement); err != nil {
			return explainProduce(cfg, err)
		}
		defer disputes.close()
	}

	output := newComparisonOutput(cfg.Format, a.stdout)
	options.Progress = a.progressBar(path)
	options.Each = func(f *reconcile.Finding) error {
		return errors.Join(output.finding(f), disputes.open(ctx, f))
	}
	report, err := reconcile.Run(ctx, book, statement, options)
	if err == nil {
		err = disputes.finish(ctx)
	}
	if err != nil {
		return explainStatement(err)
	}
	shown := newComparisonReport(path, &options, report, disputes)
	if err := output.end(shown); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return verdict(report, flags)
}

// explainStatement classes what is wrong with a statement, or with how it was to
// be compared.
func explainStatement(err error) error {
	var column *reconcile.ColumnError
	switch {
	case errors.As(err, &column):
		return usagef("--columns: %w", err)
	case errors.Is(err, reconcile.ErrNoNodes):
		return usagef("--node: %w", err)
	case errors.Is(err, reconcile.ErrNothingCompared):
		return foundf("%v", err)
	}
	return err
}

// verdict says whether all ties.
func verdict(report *reconcile.Report, flags reconcileFlags) error {
	if report.Findings == 0 {
		return nil
	}
	text := fmt.Sprintf("the statement doesn't tie: %s of %s", counted(report.Findings, "finding"), counted(report.All.Trades, "trade"))
	if flags.openDisputes && !flags.yes {
		text += "; no dispute is opened: give --yes, too, to enqueue what is found"
	}
	return foundf("%s", text)
}
