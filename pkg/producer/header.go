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

// reservedColumns are members of an envelope that tieout itself fills in. A
// file that has one expects it to count, and it wouldn't.
func reservedColumns() []string {
	return []string{"message_id", "reconciliation_key", "correlation_id", "queue_tier"}
}

// A header tells where each wanted column stands. Columns stand in any order;
// those that nobody asked for are passed over.
type header struct {
	names  []string
	at     []int // by wanted column
	own    int   // leading columns of tieout's own, not of the file's origin
	unused []string
}

// parseHeader finds the wanted columns among names.
func parseHeader(names, wanted []string) (*header, error) {
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
		case slices.Contains(reservedColumns(), name):
			return nil, &HeaderError{"has the column " + name + ", which tieout fills in: take it out"}
		case i >= h.own && name != "" && !slices.Contains(wanted, name):
			h.unused = append(h.unused, name)
		}
	}
	for i, name := range wanted {
		if h.at[i] = slices.Index(names, name); h.at[i] < 0 {
			return nil, &HeaderError{"lacks the column " + name + whyMissing(names, name)}
		}
	}
	return h, nil
}

// whyMissing guesses why a column isn't found.
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

// original drops tieout's own columns from a line's fields.
func (h *header) original(fields []string) []string {
	return fields[min(h.own, len(fields)):]
}
