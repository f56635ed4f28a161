package reconcile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tieout/tieout/pkg/settle"
)

// ErrNoNodes is returned by Run where some nodes were asked for and the
// statement has none: which of its lines count, nobody could tell.
var ErrNoNodes = errors.New("the statement has no column of nodes, so it can't be compared node by node")

// ErrNothingCompared is returned by Run where neither side has anything in the
// scope: a statement that nothing was held against doesn't tie.
var ErrNothingCompared = errors.New("nothing was compared: neither the statement nor the ledger has anything in the scope")

// A ColumnError says why a map of columns can't be used.
type ColumnError struct{ Why string }

func (e *ColumnError) Error() string { return e.Why }

// A BadLine is a line of a statement that can't be read.
type BadLine struct {
	Number  int64 // of the line of text on which it begins; the header's is 1
	Failure *settle.Failure
}

// A BadLinesError says which lines of a statement can't be read. Nothing was
// compared: what such a line bills would be missing on one side.
type BadLinesError struct {
	Path  string
	Lines []BadLine // the first ones
	Total int64
}

// maxBadLines is how many bad lines are named.
const maxBadLines = 10

func (e *BadLinesError) Error() string {
	var b strings.Builder
	for i, line := range e.Lines {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s:%d: %s", e.Path, line.Number, describe(line.Failure))
	}
	if more := e.Total - int64(len(e.Lines)); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	b.WriteString("; nothing was compared")
	return b.String()
}

// describe says what is wrong with a field, the field first.
func describe(f *settle.Failure) string {
	var b strings.Builder
	if f.Field != "" {
		b.WriteString(f.Field + " ")
	}
	fmt.Fprintf(&b, "%q: %s", f.Value, f.Reason)
	if f.Detail != "" {
		b.WriteString(", " + f.Detail)
	}
	return b.String()
}
