package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tieout/tieout/pkg/settle"
)

// proseColumns is how wide prose is at the most: as wide as the tables.
const proseColumns = 100

// writeProse writes a paragraph over as many lines as it takes.
func writeProse(w io.Writer, format string, args ...any) {
	line := ""
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+" "+word) <= proseColumns:
			line += " " + word
		default:
			fmt.Fprintln(w, line)
			line = word
		}
	}
	fmt.Fprintln(w, line)
}

// write says in words what came of the demo.
func (r *demoReport) write(w io.Writer) error {
	var b strings.Builder
	for _, stream := range r.Streams {
		stream.write(&b)
		b.WriteString("\n")
	}
	r.writePhases(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *streamReport) write(w io.Writer) {
	first, again := r.Deliveries[0], r.Deliveries[1]
	fmt.Fprintf(w, "%s (%s), settled on this machine\n\n", r.file.what, r.File)
	r.writeOutcomes(w)
	fmt.Fprintln(w)
	writeProse(w, "Settled %s records in %.1f s, from the first poll to the last outcome: %s records a second.",
		grouped(first.Sent), first.Seconds, grouped(first.Rate))
	fmt.Fprint(w, "Where the time went:\n\n")
	writeStages(w, first.Busy)
	if len(r.Disputes) > 0 {
		fmt.Fprint(w, "\nThree disputes: the vendor claims other than units x rate.\n\n")
		r.writeDisputes(w)
	}
	fmt.Fprint(w, "\nThree dead letters: lines that can't be settled.\n\n")
	r.writeDeadLetters(w)
	fmt.Fprintln(w)
	r.writeTie(w)
	writeProse(w, "Delivered again: %s posted, %s skipped as duplicates, %s dead letters. The ledger still has %s rows, %s.",
		grouped(again.Applied), grouped(again.Skipped), grouped(again.DeadLettered), grouped(r.Figures.LedgerRows), r.whatCounts())
	if r.Statement != nil {
		fmt.Fprintln(w)
		r.writeStatement(w)
	}
}

func (r *streamReport) writeOutcomes(w io.Writer) {
	t := newTable(w, "OUTCOME", "RECORDS", "AMOUNT")
	alignRight(t, 2, 3)
	for _, total := range r.Totals {
		if total.Outcome != "" {
			t.AppendRow(table.Row{total.Outcome, grouped(total.Rows), total.Currency + " " + groupedAmount(total.Amount)})
		}
	}
	t.AppendRow(table.Row{settle.DeadLetter, grouped(r.Figures.DeadLetters), ""})
	t.AppendRow(table.Row{settle.DuplicateSkipped, grouped(r.Figures.Duplicates), ""})
	if r.Figures.Rejected > 0 {
		t.AppendRow(table.Row{rejected, grouped(r.Figures.Rejected), ""})
	}
	t.AppendRow(table.Row{"all lines", grouped(r.Figures.Lines), ""})
	t.AppendRow(table.Row{"in the ledger", grouped(r.Figures.LedgerRows), wholeAmount(r.Totals)})
	if r.hasVersions() {
		t.AppendRow(table.Row{"newest versions", grouped(r.currentRows()), wholeAmount(r.Current)})
	}
	t.Render()
}

// hasVersions tells whether some of the ledger's rows no longer count.
func (r *streamReport) hasVersions() bool { return r.currentRows() != r.Figures.LedgerRows }

// whatCounts is what the ledger adds up to: of each thing the newest version.
func (r *streamReport) whatCounts() string {
	if r.hasVersions() {
		return "and the newest versions come to " + wholeAmount(r.Current)
	}
	return wholeAmount(r.Current) + " in all"
}

// wholeAmount is the amount of all outcomes in each currency.
func wholeAmount(totals []demoTotal) string {
	var amounts []string
	for _, total := range totals {
		if total.Outcome == "" {
			amounts = append(amounts, total.Currency+" "+groupedAmount(total.Amount))
		}
	}
	return strings.Join(amounts, ", ")
}

// newRecordTable makes a table of lines of the file.
func (r *streamReport) newRecordTable(w io.Writer, columns ...any) table.Writer {
	titles := []any{"LINE"}
	for _, title := range r.file.titles {
		titles = append(titles, title)
	}
	return newTable(w, append(titles, columns...)...)
}

// row is a row of such a table.
func (r *demoRecord) row(more ...any) table.Row {
	row := table.Row{r.Line}
	for _, value := range r.shown {
		row = append(row, value)
	}
	return append(row, more...)
}

func (r *streamReport) writeDisputes(w io.Writer) {
	t := r.newRecordTable(w, "CLAIMED", "MODEL", "DIFFERENCE", "")
	alignRight(t, 1, 4, 5, 6)
	for _, d := range r.Disputes {
		t.AppendRow(d.row(groupedAmount(d.Claimed), groupedAmount(d.Model), groupedAmount(d.Difference), d.Currency))
	}
	t.Render()
}

func (r *streamReport) writeDeadLetters(w io.Writer) {
	t := r.newRecordTable(w, "WHY")
	alignRight(t, 1)
	for _, d := range r.DeadLetters {
		t.AppendRow(d.row(d.Why))
	}
	t.Render()
}

// shownDifferences bounds what a person is shown; --format json has them all.
const shownDifferences = 10

func (r *streamReport) writeTie(w io.Writer) {
	if len(r.Differences) == 0 {
		sent, refused := r.Figures.Lines-r.Figures.Rejected, ""
		if r.Figures.Rejected > 0 {
			refused = "The rejected ones are those that were expected to be."
		}
		writeProse(w, "Every line ties: for each of the %s lines that were sent, Postgres and the outcome topics (read_committed) have the key, "+
			"version, outcome, amount and reason that is expected of it, once, and nothing else. %s", grouped(sent), refused)
		return
	}
	fmt.Fprintf(w, "It does NOT tie: %s from what is expected of the file.\n", counted(int64(len(r.Differences)), "difference"))
	for _, difference := range r.Differences[:min(shownDifferences, len(r.Differences))] {
		fmt.Fprintf(w, "  %s\n", difference)
	}
	if more := len(r.Differences) - shownDifferences; more > 0 {
		fmt.Fprintf(w, "  and %d more (--format json lists them)\n", more)
	}
}

// writeStatement says how the ledger compares with the statement, and shows what
// is found of one that was altered.
func (r *streamReport) writeStatement(w io.Writer) {
	all := r.Statement.All
	verdict := fmt.Sprintf("does NOT tie: %s.", counted(r.Statement.FindingCount, "finding"))
	if r.Statement.Ties {
		verdict = fmt.Sprintf("ties to the cent, line by line: %s, %s on both sides.", counted(all.Trades, "trade"), groupedAmount(all.Ledger))
	}
	writeProse(w, "The market operator's statement (%s) %s", r.Statement.Statement, verdict)
	writeProse(w, "With %s more on one of its lines, `tieout reconcile` has %s of %s:", alteration, counted(r.Altered.FindingCount, "finding"), counted(r.Altered.All.Trades, "trade"))
	fmt.Fprintln(w)
	for _, f := range r.Altered.Findings[:min(exampleCount, len(r.Altered.Findings))] {
		writeProse(w, "%s: %s", f.Class, f.Words)
	}
}

// writePhases says how long it took, added up for each stream.
func (r *demoReport) writePhases(w io.Writer) {
	var whole float64
	var parts []string
	of := map[string]float64{}
	for _, phase := range r.Phases {
		whole += phase.Seconds
		of[phase.Stream] += phase.Seconds
		if phase.Stream == "" {
			parts = append(parts, fmt.Sprintf("%s %.1f", phase.Name, phase.Seconds))
		}
	}
	for _, stream := range r.Streams {
		parts = append(parts, fmt.Sprintf("%s %.1f", stream.Stream, of[stream.Stream]))
	}
	writeProse(w, "The demo took %.1f s: %s.", whole, strings.Join(parts, ", "))
}

// alignRight sets columns of numbers.
func alignRight(t table.Writer, columns ...int) {
	configs := make([]table.ColumnConfig, len(columns))
	for i, column := range columns {
		configs[i] = table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	t.SetColumnConfigs(configs)
}
