package producer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// rejectsColumns stand first in a rejects file. In a file that begins with
// them they're passed over, so that a mended rejects file can be sent as it is.
func rejectsColumns() []string { return []string{"line", "field", "value", "reason"} }

// Columns are those by which a file's lines are read. They stand in any order;
// others are passed over.
type Columns struct {
	// Required are those that every file has.
	Required []string
	// Optional are empty in each line of a file that lacks them.
	Optional []string
	// Reserved are those that no file may have: it would expect them to count,
	// and they wouldn't.
	Reserved []string
}

// names are all columns that are read, in the order of a Line's Values.
func (c *Columns) names() []string { return slices.Concat(c.Required, c.Optional) }

// reservedColumns are members of every envelope that tieout itself fills in.
func reservedColumns() []string {
	return []string{"message_id", "reconciliation_key", "correlation_id"}
}

// A header tells where each column that is read stands.
type header struct {
	names  []string
	at     []int // by column that is read; absent where the file lacks it
	own    int   // leading columns of tieout's own, not of the file's origin
	unused []string
}

const absent = -1

// parseHeader finds columns among names.
func parseHeader(names []string, columns *Columns) (*header, error) {
	wanted := columns.names()
	h := &header{names: names, at: make([]int, len(wanted))}
	if own := rejectsColumns(); len(names) > len(own) && slices.Equal(names[:len(own)], own) {
		h.own = len(own)
	}
	for i, name := range names {
		switch {
		case !utf8.ValidString(name):
			return nil, &HeaderError{"isn't UTF-8 text"}
		case slices.Contains(wanted, name) && slices.Index(names, name) != i:
			return nil, &HeaderError{"has the column " + name + " twice"}
		case slices.Contains(columns.Reserved, name):
			return nil, &HeaderError{"has the column " + name + ", which tieout fills in: take it out"}
		case i >= h.own && name != "" && !slices.Contains(wanted, name):
			h.unused = append(h.unused, name)
		}
	}
	for i, name := range wanted {
		h.at[i] = slices.Index(names, name) // absent, where it isn't there
		why := whyMissing(names, name)
		if h.at[i] == absent && (why != "" || i < len(columns.Required)) {
			return nil, &HeaderError{"lacks the column " + name + why}
		}
	}
	return h, nil
}

// whyMissing guesses why a column isn't found. Where it can, an optional column
// is missed as well.
func whyMissing(names []string, missing string) string {
	for _, name := range names {
		if strings.EqualFold(strings.TrimSpace(name), missing) {
			return fmt.Sprintf(": it has %q, and names must be equal", name)
		}
	}
	if len(names) == 1 && strings.ContainsAny(names[0], ";\t") {
		return ": fields must be separated by commas"
	}
	return ""
}

// value is the value of a column that is read, in a line's fields.
func (h *header) value(fields []string, column int) string {
	if h.at[column] == absent {
		return ""
	}
	return fields[h.at[column]]
}

// original drops tieout's own columns from a line's fields.
func (h *header) original(fields []string) []string {
	return fields[min(h.own, len(fields)):]
}
