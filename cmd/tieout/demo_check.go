package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// compare holds every line against the file's expectation: in Postgres, on the
// outcome topics, and in the figures of the whole.
func (d *demo) compare(ctx context.Context) error {
	posted, err := d.findPosted(ctx)
	if err != nil {
		return err
	}
	published, err := d.findPublished(ctx)
	if err != nil {
		return err
	}
	d.differ("in Postgres: ", d.tie.differences(posted))
	d.differ("on the topics: ", d.tie.differences(published))
	if err := d.compareFigures(ctx); err != nil {
		return err
	}
	d.report.pickExamples(d.tie, posted)
	return nil
}

// differ notes differences of one kind.
func (d *demo) differ(kind string, differences []string) {
	for _, difference := range differences {
		d.report.Differences = append(d.report.Differences, kind+difference)
	}
}

// openLedgers opens the ledger of each lane to be read, as a worker does.
func (d *demo) openLedgers(ctx context.Context) (ledgers []*ledger.Ledger, done func(), err error) {
	done = func() {
		for _, l := range ledgers {
			l.Close()
		}
	}
	cfg := d.sandbox.cfg
	for _, lane := range salesLanes() {
		l, err := ledger.Open(ctx, ledger.Options{
			URL: cfg.DatabaseURL, Schema: cfg.Schema, Role: cfg.WorkerRole,
			ConsumerGroup: cfg.GroupPrefix + lane.Topic, Table: lane.Stream.Table(), Stream: lane.Stream.Name(),
			MaxConns: 1, ApplicationName: "tieout demo", Logger: d.sandbox.logger,
		})
		if err != nil {
			done()
			return nil, nil, err
		}
		ledgers = append(ledgers, l)
	}
	return ledgers, done, nil
}

// findPosted reads what Postgres holds of each line.
func (d *demo) findPosted(ctx context.Context) ([]finding, error) {
	ledgers, done, err := d.openLedgers(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var findings []finding
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
func (d *demo) findPublished(ctx context.Context) ([]finding, error) {
	options, err := kafkaOptions(d.sandbox.cfg, d.sandbox.logger)
	if err != nil {
		return nil, err
	}
	registry, err := openRegistry(d.sandbox.cfg)
	if err != nil {
		return nil, err
	}
	defer registry.Close()
	reader, err := newOutcomeReader(d.sandbox.cfg, registry, salesLanes()[0].Topics)
	if err != nil {
		return nil, err
	}
	return reader.find(ctx, options)
}

// compareFigures adds the ledger up and reads the counters of each delivery.
func (d *demo) compareFigures(ctx context.Context) error {
	ledgers, done, err := d.openLedgers(ctx)
	if err != nil {
		return err
	}
	defer done()
	totals, err := ledgers[0].Totals(ctx)
	if err != nil {
		return err
	}
	counts, err := ledgers[0].RunCounts(ctx, d.tie.runID)
	if err != nil {
		return err
	}
	if len(counts) != len(d.tie.deliveries) {
		return fmt.Errorf("run %s has %d deliveries in the ledger, %d were sent", d.tie.runID, len(counts), len(d.tie.deliveries))
	}
	for i := range counts {
		d.report.Deliveries[i].count(counts[i].Counts)
	}
	d.report.Totals = demoTotals(totals)
	d.report.Figures = figuresOf(totals, counts[0].Counts)
	d.compareCounts()
	return nil
}

// compareCounts holds the figures against those of the file's authors. Sent
// again, what was posted is a duplicate.
func (d *demo) compareCounts() {
	want := d.report.Expected
	if got := d.report.Figures; got != want {
		d.differ("in the figures: ", []string{fmt.Sprintf("they are %+v, expected are %+v", got, want)})
	}
	for i, delivery := range d.report.Deliveries {
		if delivery.Rejected != 0 || delivery.Sent != want.Lines {
			d.differ("sent: ", []string{fmt.Sprintf("%d of %d lines, %d are refused", delivery.Sent, want.Lines, delivery.Rejected)})
		}
		if i == 0 {
			continue
		}
		expected := ledger.Counts{Skipped: want.Lines - want.DeadLetters, DeadLettered: want.DeadLetters}
		if delivery.Counts != expected {
			d.differ("sent again: ", []string{fmt.Sprintf("%+v, expected are %+v", delivery.Counts, expected)})
		}
	}
}

// figuresOf takes the figures of the first delivery from what the ledger says.
func figuresOf(totals []ledger.Total, counts ledger.Counts) demoFigures {
	figures := demoFigures{Lines: counts.Total(), DeadLetters: counts.DeadLettered, Duplicates: counts.Skipped}
	var amounts []string
	for _, t := range totals {
		switch t.Outcome {
		case settle.AutoPost:
			figures.AutoPosts += t.Rows
		case settle.Dispute:
			figures.Disputes += t.Rows
		case "":
			figures.LedgerRows += t.Rows
			amounts = append(amounts, t.Amount.String())
		}
	}
	figures.LedgerTotal = strings.Join(amounts, " + ")
	return figures
}
