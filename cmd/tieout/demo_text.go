package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tieout/tieout/pkg/settle"
)

// write says in words what came of the demo.
func (r *demoReport) write(w io.Writer) error {
	var b strings.Builder
	first, again := r.Deliveries[0], r.Deliveries[1]
	fmt.Fprintf(&b, "A month of vendor claims (%s), settled on this machine\n\n", r.File)
	r.writeOutcomes(&b)
	fmt.Fprintf(&b, "\nSettled %s records in %.1f s, from the first poll to the last outcome: %s records a second.\n",
		grouped(r.Figures.Lines), first.Seconds, grouped(first.Rate))
	b.WriteString("Where the time went:\n\n")
	writeStages(&b, first.Busy)
	b.WriteString("\nThree disputes: the vendor claims other than units x rate.\n\n")
	r.writeDisputes(&b)
	b.WriteString("\nThree dead letters: lines that can't be settled.\n\n")
	r.writeDeadLetters(&b)
	b.WriteString("\n")
	r.writeTie(&b)
	fmt.Fprintf(&b, "Delivered again: %s posted, %s skipped as duplicates, %s dead letters. The ledger still has %s rows, %s in all.\n",
		grouped(again.Applied), grouped(again.Skipped), grouped(again.DeadLettered), grouped(r.Figures.LedgerRows), r.ledgerTotal())
	b.WriteString("\nThe demo took ")
	r.writePhases(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *demoReport) writeOutcomes(w io.Writer) {
	t := newTable(w, "OUTCOME", "RECORDS", "AMOUNT")
	alignRight(t, 2, 3)
	for _, total := range r.Totals {
		if total.Outcome != "" {
			t.AppendRow(table.Row{total.Outcome, grouped(total.Rows), total.Currency + " " + groupedAmount(total.Amount)})
		}
	}
	t.AppendRow(table.Row{settle.DeadLetter, grouped(r.Figures.DeadLetters), ""})
	t.AppendRow(table.Row{settle.DuplicateSkipped, grouped(r.Figures.Duplicates), ""})
	t.AppendRow(table.Row{"all lines", grouped(r.Figures.Lines), ""})
	t.AppendRow(table.Row{"in the ledger", grouped(r.Figures.LedgerRows), r.ledgerTotal()})
	t.Render()
}

// ledgerTotal is what the ledger adds up to in each currency.
func (r *demoReport) ledgerTotal() string {
	var amounts []string
	for _, total := range r.Totals {
		if total.Outcome == "" {
			amounts = append(amounts, total.Currency+" "+groupedAmount(total.Amount))
		}
	}
	return strings.Join(amounts, ", ")
}

func (r *demoReport) writeDisputes(w io.Writer) {
	t := newTable(w, "LINE", "VENDOR", "INVOICE", "CLAIMED", "MODEL", "DIFFERENCE", "")
	alignRight(t, 1, 4, 5, 6)
	for _, d := range r.Disputes {
		t.AppendRow(table.Row{d.Line, d.Vendor, d.Invoice, groupedAmount(d.Claimed), groupedAmount(d.Model), groupedAmount(d.Difference), d.Currency})
	}
	t.Render()
}

func (r *demoReport) writeDeadLetters(w io.Writer) {
	t := newTable(w, "LINE", "VENDOR", "INVOICE", "WHY")
	alignRight(t, 1)
	for _, d := range r.DeadLetters {
		t.AppendRow(table.Row{d.Line, d.Vendor, d.Invoice, d.Why})
	}
	t.Render()
}

// shownDifferences bounds what a person is shown; --format json has them all.
const shownDifferences = 10

func (r *demoReport) writeTie(w io.Writer) {
	if len(r.Differences) == 0 {
		fmt.Fprintf(w, "Every line ties: for each of the %s lines, Postgres and the outcome topics (read_committed) have the key, outcome,\n"+
			"amount and reason that the file expects, once, and nothing else.\n", grouped(r.Figures.Lines))
		return
	}
	fmt.Fprintf(w, "It does NOT tie: %s from what the file expects.\n", counted(int64(len(r.Differences)), "difference"))
	for _, difference := range r.Differences[:min(shownDifferences, len(r.Differences))] {
		fmt.Fprintf(w, "  %s\n", difference)
	}
	if more := len(r.Differences) - shownDifferences; more > 0 {
		fmt.Fprintf(w, "  and %d more (--format json lists them)\n", more)
	}
}

func (r *demoReport) writePhases(w io.Writer) {
	var total float64
	parts := make([]string, len(r.Phases))
	for i, phase := range r.Phases {
		total += phase.Seconds
		parts[i] = fmt.Sprintf("%s %.1f", phase.Name, phase.Seconds)
	}
	fmt.Fprintf(w, "%.1f s: %s.\n", total, strings.Join(parts, ", "))
}

// alignRight sets columns of numbers.
func alignRight(t table.Writer, columns ...int) {
	configs := make([]table.ColumnConfig, len(columns))
	for i, column := range columns {
		configs[i] = table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	t.SetColumnConfigs(configs)
}
