package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// A demoReport is what the demo shows in the end.
type demoReport struct {
	Streams []*streamReport `json:"streams"`
	Phases  []demoPhase     `json:"phases"`
}

// A streamReport is what came of one stream's file.
type streamReport struct {
	Stream      string           `json:"stream"`
	File        string           `json:"file"`
	RunID       string           `json:"run_id"`
	Figures     demoFigures      `json:"figures"`
	Expected    demoFigures      `json:"expected"`
	Totals      []demoTotal      `json:"totals"`  // of all that is posted
	Current     []demoTotal      `json:"current"` // of the newest version of each thing
	Deliveries  []demoDelivery   `json:"deliveries"`
	Disputes    []demoDispute    `json:"disputes"`            // three of them
	DeadLetters []demoDeadLetter `json:"dead_letters"`        // three of them
	Statement   *demoComparison  `json:"statement,omitempty"` // that there is
	Altered     *demoComparison  `json:"altered_statement,omitempty"`
	Differences []string         `json:"differences"` // none: all ties

	file *demoFile
}

// differences is how many there are, over all streams.
func (r *demoReport) differences() (total int64) {
	for _, stream := range r.Streams {
		total += int64(len(stream.Differences))
	}
	return total
}

// currentRows is of how many things there are postings.
func (r *streamReport) currentRows() (rows int64) {
	for _, total := range r.Current {
		if total.Outcome == "" {
			rows += total.Rows
		}
	}
	return rows
}

// A demoPhase is how long one part of the demo took.
type demoPhase struct {
	Stream  string  `json:"stream,omitempty"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// A demoTotal is what is posted in one currency, with one outcome or any.
type demoTotal struct {
	Currency string         `json:"currency"`
	Outcome  settle.Outcome `json:"outcome,omitempty"`
	Rows     int64          `json:"rows"`
	Amount   string         `json:"amount"`
}

// A demoDelivery is one sending of the file, and what came of it.
type demoDelivery struct {
	Delivery string        `json:"delivery"`
	Sent     int64         `json:"sent"`
	Rejected int64         `json:"rejected"`
	Counts   ledger.Counts `json:"-"`

	Applied      int64 `json:"applied"`
	Skipped      int64 `json:"skipped"`
	DeadLettered int64 `json:"dead_lettered"`

	Seconds float64            `json:"seconds"` // first poll to last outcome
	Rate    int64              `json:"records_per_second"`
	Busy    map[string]float64 `json:"busy_seconds"` // by stage, over all partitions
}

// A demoRecord is a line that is shown as an example.
type demoRecord struct {
	Line   int64             `json:"line"`
	Record map[string]string `json:"record"` // some columns

	shown []string // in their order
}

func newDemoRecord(columns []string, line demoLine) demoRecord {
	r := demoRecord{Line: line.number, Record: map[string]string{}, shown: line.shown}
	for i, value := range line.shown {
		r.Record[columns[i]] = value
	}
	return r
}

// A demoDispute is a claim that isn't what the model says.
type demoDispute struct {
	demoRecord
	Claimed    string `json:"claimed"`
	Model      string `json:"model"`
	Difference string `json:"difference"`
	Currency   string `json:"currency"`

	size money.Decimal // of the difference, without its sign
}

// A demoDeadLetter is a line that can't be settled.
type demoDeadLetter struct {
	demoRecord
	Reason settle.Reason `json:"reason"`
	Why    string        `json:"why"`
}

func (d *demoDelivery) count(counts ledger.Counts) {
	d.Counts = ledger.Counts{Applied: counts.Applied, Skipped: counts.Skipped, DeadLettered: counts.DeadLettered}
	d.Applied, d.Skipped, d.DeadLettered = counts.Applied, counts.Skipped, counts.DeadLettered
}

func (d *demoDelivery) took(m metered) {
	d.Seconds, d.Rate, d.Busy = seconds(m.took()), rate(m.records(), m.took()), m.busySeconds()
}

func demoTotals(totals []ledger.Total) []demoTotal {
	shown := make([]demoTotal, len(totals))
	for i, t := range totals {
		shown[i] = demoTotal{t.Currency, t.Outcome, t.Rows, t.Amount.String()}
	}
	return shown
}

// exampleCount is how many disputes and dead letters are shown.
const exampleCount = 3

// pickExamples takes the disputes that differ most, and of the dead letters the
// first one for each reason, then others.
func (r *streamReport) pickExamples(t *tie, posted []finding) {
	r.Disputes, r.DeadLetters = []demoDispute{}, []demoDeadLetter{}
	for i := range posted {
		f := &posted[i]
		delivery, at, ok := t.locate(f)
		if !ok || delivery != 0 {
			continue
		}
		switch record := newDemoRecord(r.file.columns, t.lines[at]); f.outcome {
		case settle.Dispute:
			r.Disputes = append(r.Disputes, newDemoDispute(record, f))
		case settle.DeadLetter:
			r.DeadLetters = append(r.DeadLetters, demoDeadLetter{record, f.reason, inWords(&f.failure)})
		}
	}
	slices.SortFunc(r.Disputes, func(a, b demoDispute) int {
		return cmp.Or(b.size.Sub(a.size).Sign(), cmp.Compare(a.Line, b.Line))
	})
	r.Disputes = r.Disputes[:min(exampleCount, len(r.Disputes))]
	r.DeadLetters = eachReasonFirst(r.DeadLetters)
	r.DeadLetters = r.DeadLetters[:min(exampleCount, len(r.DeadLetters))]
}

// eachReasonFirst puts letters in the order of their lines, but the first one of
// each reason before all others.
func eachReasonFirst(letters []demoDeadLetter) (ordered []demoDeadLetter) {
	slices.SortFunc(letters, func(a, b demoDeadLetter) int { return cmp.Compare(a.Line, b.Line) })
	var later []demoDeadLetter
	seen := map[settle.Reason]bool{}
	for _, letter := range letters {
		if seen[letter.Reason] {
			later = append(later, letter)
			continue
		}
		seen[letter.Reason] = true
		ordered = append(ordered, letter)
	}
	return append(ordered, later...)
}

func newDemoDispute(record demoRecord, f *finding) demoDispute {
	size := f.difference.Decimal
	if size.Sign() < 0 {
		size = size.Neg()
	}
	return demoDispute{
		demoRecord: record,
		Claimed:    inCents(f.claimed.Decimal), Model: inCents(f.amount.Decimal), Difference: inCents(f.difference.Decimal),
		Currency: f.currency, size: size,
	}
}

// inCents shows an amount with two fraction digits, or as many as it needs.
func inCents(d money.Decimal) string {
	shown := d.Normalize().String()
	whole, fraction, _ := strings.Cut(shown, ".")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return whole + "." + fraction
}

// inWords says in words why a record is a dead letter.
func inWords(f *settle.Failure) string {
	switch f.Reason {
	case settle.ReasonNegativeUnits:
		return fmt.Sprintf("it claims for %s units: they can't be negative", f.Value)
	case settle.ReasonNegativeRate:
		return fmt.Sprintf("its rate is %s a unit: it can't be negative", f.Value)
	case settle.ReasonConflictingDuplicate:
		return fmt.Sprintf("its %s is %s, %s for the same version", f.Field, f.Value, f.Detail)
	case settle.ReasonInvalidPromoCode:
		return fmt.Sprintf("there is no promotion tier %q: %s", f.Value, f.Detail)
	default:
		return f.Message()
	}
}
