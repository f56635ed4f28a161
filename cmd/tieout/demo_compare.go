package main

import (
	"fmt"

	"github.com/tieout/tieout/pkg/settle"
)

// A tie compares what is found with what the file expects, line by line.
type tie struct {
	lines      []demoLine
	runID      string
	deliveries []string // of the file, in order: the first posts, the others are copies

	byNumber map[int64]int // lines by their number
}

func newTie(lines []demoLine) *tie {
	t := &tie{lines: lines, byNumber: make(map[int64]int, len(lines))}
	for i, line := range lines {
		t.byNumber[line.number] = i
	}
	return t
}

// sent notes one more delivery of the file.
func (t *tie) sent(runID, delivery string) {
	t.runID = runID
	t.deliveries = append(t.deliveries, delivery)
}

// differences says where one place differs from what is expected: of each line
// and delivery there is exactly what must be, and nothing else.
func (t *tie) differences(findings []finding) []string {
	var differences []string
	differ := func(format string, args ...any) {
		differences = append(differences, fmt.Sprintf(format, args...))
	}
	found := make([][]*finding, len(t.deliveries))
	for i := range found {
		found[i] = make([]*finding, len(t.lines))
	}
	for i := range findings {
		f := &findings[i]
		delivery, line, ok := t.locate(f)
		switch {
		case !ok:
			differ("%s is of no line that was sent (%s)", f.place, f.correlationID)
		case found[delivery][line] != nil:
			differ("line %d is there twice: %s and %s", t.lines[line].number, found[delivery][line].place, f.place)
		default:
			found[delivery][line] = f
		}
	}
	for delivery := range t.deliveries {
		for i, line := range t.lines {
			if why := compareLine(t.want(delivery, line), found[delivery][i]); why != "" {
				differ("line %d of delivery %d: %s", line.number, delivery+1, why)
			}
		}
	}
	return differences
}

// locate finds the delivery and the line that a finding is of.
func (t *tie) locate(f *finding) (delivery, line int, ok bool) {
	number, ok := lineNumber(t.runID, f.correlationID)
	if !ok {
		return 0, 0, false
	}
	if line, ok = t.byNumber[number]; !ok {
		return 0, 0, false
	}
	for i, id := range t.deliveries {
		if id == f.delivery {
			return i, line, true
		}
	}
	return 0, 0, false
}

// want is what must become of a line. Sent again, whatever was posted is a
// duplicate; what can't be settled is a dead letter each time.
func (t *tie) want(delivery int, line demoLine) lineVerdict {
	switch line.want.outcome {
	case settle.AutoPost, settle.Dispute:
		if delivery > 0 {
			return lineVerdict{key: line.want.key, outcome: settle.DuplicateSkipped}
		}
	}
	return line.want
}

// rejectDifferences says where the lines that weren't sent are others than those
// that are expected, or for other reasons.
func (t *tie) rejectDifferences(reasons map[int64]settle.Reason) (differences []string) {
	for _, line := range t.lines {
		want := settle.Reason("")
		if line.want.outcome == rejected {
			want = line.want.reason
		}
		if got := reasons[line.number]; got != want {
			differences = append(differences, fmt.Sprintf("line %d has reason %q, %q is expected", line.number, got, want))
		}
	}
	return differences
}

// compareLine says in what a finding differs; empty where it doesn't.
func compareLine(want lineVerdict, found *finding) string {
	switch {
	case found == nil && (want.outcome == settle.DuplicateSkipped || want.outcome == rejected):
		return ""
	case found == nil:
		return fmt.Sprintf("nothing is found, %s is expected", want.outcome)
	case found.outcome != want.outcome:
		return fmt.Sprintf("%s is %s, %s is expected", found.place, found.outcome, want.outcome)
	case found.key != want.key:
		return fmt.Sprintf("%s has key %s, %s is expected", found.place, found.key, want.key)
	case found.version != want.version && want.amount.Valid:
		return fmt.Sprintf("%s has version %d, %d is expected", found.place, found.version, want.version)
	case found.reason != want.reason:
		return fmt.Sprintf("%s has reason %s, %s is expected", found.place, found.reason, want.reason)
	case found.amount.Valid != want.amount.Valid || !found.amount.Decimal.Equal(want.amount.Decimal):
		return fmt.Sprintf("%s has amount %s, %s is expected", found.place, found.amount.Decimal, want.amount.Decimal)
	case found.difference.Valid != found.claimed.Valid || found.claimed.Valid && !found.difference.Decimal.Equal(found.claimed.Decimal.Sub(found.amount.Decimal)):
		return fmt.Sprintf("%s has difference %s, which isn't claimed less amount", found.place, found.difference.Decimal)
	}
	return ""
}
