package settletest

import (
	"strings"

	"github.com/tieout/tieout/pkg/settle"
)

// A Ledger is the ledger's part of the design in a map: what is posted once, and
// what a second record of the same key is.
type Ledger struct {
	table  settle.Table
	posted map[string]map[string]string // by primary key: the row's columns by name
}

// NewLedger makes an empty ledger of a table.
func NewLedger(table settle.Table) *Ledger {
	return &Ledger{table: table, posted: map[string]map[string]string{}}
}

// Post takes a posting, or says what it is instead.
func (l *Ledger) Post(p settle.Posting) (settle.Outcome, settle.Reason) {
	row := make(map[string]string, len(l.table.Columns))
	for i, value := range RowOf(p).Values {
		row[l.table.Columns[i].Name] = value
	}
	var key strings.Builder
	for _, column := range l.table.Key {
		key.WriteString(row[column] + "\x00")
	}
	posted, known := l.posted[key.String()]
	switch {
	case !known:
		l.posted[key.String()] = row
		return p.Outcome, ""
	case differ(posted, row, l.table.Pinned):
		return settle.DeadLetter, settle.ReasonVersionConflict
	case differ(posted, row, l.table.Economics):
		return settle.DeadLetter, settle.ReasonConflictingDuplicate
	}
	return settle.DuplicateSkipped, ""
}

func differ(a, b map[string]string, columns []string) bool {
	for _, column := range columns {
		if a[column] != b[column] {
			return true
		}
	}
	return false
}

// Rows is how many postings there are.
func (l *Ledger) Rows() int { return len(l.posted) }
