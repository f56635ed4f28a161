package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// A demoReport is what the demo shows in the end.
type demoReport struct {
	File        string           `json:"file"`
	RunID       string           `json:"run_id"`
	Figures     demoFigures      `json:"figures"`
	Expected    demoFigures      `json:"expected"`
	Totals      []demoTotal      `json:"totals"`
	Deliveries  []demoDelivery   `json:"deliveries"`
	Disputes    []demoDispute    `json:"disputes"`     // three of them
	DeadLetters []demoDeadLetter `json:"dead_letters"` // three of them
	Differences []string         `json:"differences"`  // none: every line ties
	Phases      []demoPhase      `json:"phases"`
}

// A demoPhase is how long one part of the demo took.
type demoPhase struct {
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

// A demoDispute is a claim that isn't what the model says.
type demoDispute struct {
	Line       int64  `json:"line"`
	Vendor     string `json:"vendor"`
	Invoice    string `json:"invoice"`
	Claimed    string `json:"claimed"`
	Model      string `json:"model"`
	Difference string `json:"difference"`
	Currency   string `json:"currency"`

	size money.Decimal // of the difference, without its sign
}

// A demoDeadLetter is a line that can't be settled.
type demoDeadLetter struct {
	Line    int64         `json:"line"`
	Vendor  string        `json:"vendor"`
	Invoice string        `json:"invoice"`
	Reason  settle.Reason `json:"reason"`
	Why     string        `json:"why"`
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

// pickExamples takes the disputes that differ most, and of the dead letters one
// for each reason first.
func (r *demoReport) pickExamples(t *tie, posted []finding) {
	r.Disputes, r.DeadLetters = nil, nil
	var later []demoDeadLetter
	for i := range posted {
		f := &posted[i]
		delivery, at, ok := t.locate(f)
		if !ok || delivery != 0 {
			continue
		}
		line := t.lines[at]
		switch f.outcome {
		case settle.Dispute:
			r.Disputes = append(r.Disputes, newDemoDispute(line, f))
		case settle.DeadLetter:
			letter := demoDeadLetter{line.number, line.vendor, line.invoice, f.reason, inWords(&f.failure)}
			if slices.ContainsFunc(r.DeadLetters, func(other demoDeadLetter) bool { return other.Reason == letter.Reason }) {
				later = append(later, letter)
			} else {
				r.DeadLetters = append(r.DeadLetters, letter)
			}
		}
	}
	slices.SortFunc(r.Disputes, func(a, b demoDispute) int {
		if sign := b.size.Sub(a.size).Sign(); sign != 0 {
			return sign
		}
		return int(a.Line - b.Line)
	})
	r.Disputes = r.Disputes[:min(exampleCount, len(r.Disputes))]
	r.DeadLetters = append(r.DeadLetters, later...)
	r.DeadLetters = r.DeadLetters[:min(exampleCount, len(r.DeadLetters))]
}

func newDemoDispute(line demoLine, f *finding) demoDispute {
	size := f.difference.Decimal
	if size.Sign() < 0 {
		size = money.Decimal{}.Sub(size)
	}
	return demoDispute{
		Line: line.number, Vendor: line.vendor, Invoice: line.invoice,
		Claimed: inCents(f.claimed.Decimal), Model: inCents(f.amount.Decimal), Difference: inCents(f.difference.Decimal),
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
	case settle.ReasonInvalidPromoCode:
		return fmt.Sprintf("there is no promotion tier %q: %s", f.Value, f.Detail)
	default:
		return f.Message()
	}
}
