package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// compareRejects holds the lines that weren't sent against those that must not
// be; path is empty where all of them were.
func (r *demoRun) compareRejects(path string) error {
	reasons := map[int64]settle.Reason{}
	if path != "" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		reasons, err = readRejects(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	r.differ("in the file of rejects: ", r.tie.rejectDifferences(reasons)...)
	return nil
}

// compare holds every line against the file's expectation: in Postgres, on the
// outcome topics, and in the figures of the whole.
func (r *demoRun) compare(ctx context.Context) error {
	ledgers, done, err := r.openLedgers(ctx)
	if err != nil {
		return err
	}
	defer done()
	posted, err := findPosted(ctx, ledgers)
	if err != nil {
		return err
	}
	published, err := r.findPublished(ctx)
	if err != nil {
		return err
	}
	r.differ("in Postgres: ", r.tie.differences(posted)...)
	r.differ("on the topics: ", r.tie.differences(published)...)
	if err := r.compareFigures(ctx, ledgers[0]); err != nil {
		return err
	}
	r.report.pickExamples(r.tie, posted)
	return nil
}

// openLedgers opens the ledger of each lane to be read, as a worker does.
func (r *demoRun) openLedgers(ctx context.Context) (ledgers []*ledger.Ledger, done func(), err error) {
	done = func() {
		for _, l := range ledgers {
			l.Close()
		}
	}
	for _, lane := range r.lanes() {
		l, err := openBook(ctx, r.sandbox.cfg, lane, "demo", r.sandbox.logger)
		if err != nil {
			done()
			return nil, nil, err
		}
		ledgers = append(ledgers, l)
	}
	return ledgers, done, nil
}

// findPosted reads what Postgres holds of each line.
func findPosted(ctx context.Context, ledgers []*ledger.Ledger) (findings []finding, err error) {
	for _, l := range ledgers {
		found, err := findInLedger(ctx, l)
		if err != nil {
			return nil, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

// findPublished reads what the topics say of each line, with a client of its
// own that has nothing to do with a worker.
func (r *demoRun) findPublished(ctx context.Context) ([]finding, error) {
	options, err := kafkaOptions(r.sandbox.cfg, r.sandbox.logger)
	if err != nil {
		return nil, err
	}
	registry, err := openRegistry(r.sandbox.cfg)
	if err != nil {
		return nil, err
	}
	defer registry.Close()
	reader, err := newOutcomeReader(r.sandbox.cfg, registry, r.lanes()[0].Topics)
	if err != nil {
		return nil, err
	}
	return reader.find(ctx, options)
}

// compareFigures adds the ledger up and reads the counters of each delivery.
func (r *demoRun) compareFigures(ctx context.Context, l *ledger.Ledger) error {
	all, err := l.Totals(ctx)
	if err != nil {
		return err
	}
	current, err := l.CurrentTotals(ctx)
	if err != nil {
		return err
	}
	counts, err := l.RunCounts(ctx, r.tie.runID)
	if err != nil {
		return err
	}
	if len(counts) != len(r.tie.deliveries) {
		return fmt.Errorf("run %s has %d deliveries in the ledger, %d were sent", r.tie.runID, len(counts), len(r.tie.deliveries))
	}
	for i := range counts {
		r.report.Deliveries[i].count(counts[i].Counts)
	}
	r.report.Totals, r.report.Current = demoTotals(all), demoTotals(current)
	r.report.Figures = r.report.figures()
	r.compareCounts()
	return nil
}

// compareCounts holds the figures against those of the file's authors. Sent
// again, what was posted is a duplicate.
func (r *demoRun) compareCounts() {
	want := r.report.Expected
	if got := r.report.Figures; got != want {
		r.differ("in the figures: ", fmt.Sprintf("they are %+v, expected are %+v", got, want))
	}
	for i, delivery := range r.report.Deliveries {
		if delivery.Rejected != want.Rejected || delivery.Sent != want.Lines-want.Rejected {
			r.differ("sent: ", fmt.Sprintf("%d of %d lines, %d are refused", delivery.Sent, want.Lines, delivery.Rejected))
		}
		if i == 0 {
			continue
		}
		expected := ledger.Counts{Skipped: want.Lines - want.Rejected - want.DeadLetters, DeadLettered: want.DeadLetters}
		if delivery.Counts != expected {
			r.differ("sent again: ", fmt.Sprintf("%+v, expected are %+v", delivery.Counts, expected))
		}
	}
}

// figures takes the figures of the first delivery from what the ledger says.
func (r *streamReport) figures() demoFigures {
	first := r.Deliveries[0]
	figures := demoFigures{
		Lines: first.Counts.Total() + first.Rejected, Rejected: first.Rejected,
		DeadLetters: first.DeadLettered, Duplicates: first.Skipped,
	}
	for _, total := range r.Totals {
		switch total.Outcome {
		case settle.AutoPost:
			figures.AutoPosts += total.Rows
		case settle.Dispute:
			figures.Disputes += total.Rows
		case "":
			figures.LedgerRows += total.Rows
		}
	}
	var amounts []string
	for _, total := range r.Current {
		if total.Outcome == "" {
			amounts = append(amounts, total.Amount)
		}
	}
	figures.CurrentTotal = strings.Join(amounts, " + ")
	return figures
}
