package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/tieout/tieout/pkg/runs"
)

// writeRun shows a run in words: a table of its deliveries, then what is to be
// said of each.
func writeRun(w io.Writer, r *shownRun) error {
	var b strings.Builder
	t := newTable(&b, "DELIVERY", "STREAM", "TOPIC", "APPLIED", "SKIPPED", "DEAD", "DISPUTED", "TOTAL", "SENT", "STATE", "FIRST", "LAST")
	alignRight(t, 4, 5, 6, 7, 8, 9)
	for i := range r.Parts {
		p := &r.Parts[i]
		sent := "?"
		if p.Sent != nil {
			sent = grouped(*p.Sent)
		}
		t.AppendRow(table.Row{
			shownName(p.Delivery), shownName(p.Stream), shownName(p.Topic),
			grouped(p.Applied), grouped(p.Skipped), grouped(p.DeadLettered), grouped(p.Disputed), grouped(p.Total), sent, p.State, clock(p.FirstAt), clock(p.LastAt),
		})
	}
	t.Render()
	if r.Known {
		for i := range r.Parts {
			b.WriteByte('\n')
			r.Parts[i].write(&b)
		}
		if r.Strangers > 0 {
			fmt.Fprintf(&b, "\n%s under this run's key couldn't be read as a manifest.\n", counted(int64(r.Strangers), "record"))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// clock shows a time to the second; none as a dash.
func clock(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// write says in words how far a delivery has come.
func (p *shownPart) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s\n", shownName(p.Delivery), p.verdict())
	p.writeDiffering(b)
	if p.ControlSum != nil {
		p.ControlSum.write(b, p.State)
	}
	if p.Rejected != nil && *p.Rejected > 0 {
		fmt.Fprintf(b, "Refused and not sent: %s.\n", counted(*p.Rejected, "line"))
	}
}

func (p *shownPart) verdict() string {
	if p.State == runs.Unknown {
		return "no manifest says what was sent: the delivery is under way, or was cut off, or its producer writes none."
	}
	sent := counted(*p.Sent, "record")
	arrived := fmt.Sprintf("%s of %s sent to %s arrived", grouped(*p.Sent-p.missing), sent, shownName(p.Topic))
	switch p.State {
	case runs.Complete:
		return "complete: " + arrived + "."
	case runs.Incomplete:
		return "incomplete: " + arrived + ". Missing are:"
	case runs.Differs:
		return "differs: " + arrived + ", but what arrived isn't what was sent."
	case runs.Unsettled:
		return fmt.Sprintf("%s sent to %s, which isn't settled: nothing is to arrive.", sent, shownName(p.Topic))
	case runs.Aborted, runs.Unknown:
	}
	verdict := fmt.Sprintf("aborted with %s acknowledged; ", sent)
	if p.SentAgain == "" {
		verdict += "send its file again."
	} else {
		verdict += "all of its file came again as " + p.SentAgain + "."
	}
	if p.missing > 0 {
		verdict += " Missing of those acknowledged are:"
	}
	return verdict
}

func (p *shownPart) writeDiffering(b *strings.Builder) {
	if len(p.Differing) == 0 {
		return
	}
	t := newTable(b, "TOPIC", "PARTITION", "SENT", "ARRIVED", "MISSING", "")
	alignRight(t, 2, 3, 4, 5)
	for _, d := range p.Differing {
		why := ""
		if d.Halted != "" {
			why = "halted: " + string(d.Halted)
		}
		t.AppendRow(table.Row{shownName(d.Topic), d.Partition, grouped(d.Sent), grouped(d.Arrived), grouped(d.Missing), why})
	}
	t.Render()
}

// write compares the control sum with what has arrived, and claims no more than
// can be known: a sum over less than all can't be the same.
func (s *shownSum) write(b *strings.Builder, state runs.State) {
	fmt.Fprintf(b, "%s: %s sent; %s applied, %s skipped, %s dead-lettered", s.Quantity,
		groupedAmount(s.Sent), groupedAmount(s.Applied), groupedAmount(s.Skipped), groupedAmount(s.DeadLettered))
	unread := counted(s.Unmeasured, "record") + " of which it can't be read"
	switch {
	case s.Difference == "0" && s.Unmeasured == 0:
		b.WriteString(", which is the same.\n")
	case state == runs.Incomplete && s.Unmeasured == 0:
		fmt.Fprintf(b, "; the rest, %s, must be what is missing.\n", groupedAmount(s.Difference))
	case state == runs.Incomplete:
		fmt.Fprintf(b, "; the rest, %s, must be what is missing and the %s.\n", groupedAmount(s.Difference), unread)
	case s.Unmeasured > 0:
		fmt.Fprintf(b, "; the rest, %s, can only be that of the %s.\n", groupedAmount(s.Difference), unread)
	default:
		fmt.Fprintf(b, "; the difference of %s is unexplained.\n", groupedAmount(s.Difference))
	}
}
