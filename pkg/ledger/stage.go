package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// A stage is a batch's postings, encoded and sorted: what is copied into the
// temporary table. The order is that of the ledger's primary key and then of
// the offset, so that locks are taken in one order everywhere and the first by
// offset wins among equal keys. It's used again and again.
type stage struct {
	writer *rowWriter
	key    []keyColumn
	rows   []stagedRow // sorted
	sorted []span      // where the sorted rows are, for COPY
}

// A keyColumn is one column of the primary key.
type keyColumn struct {
	columnType settle.ColumnType
	written    int // its place among the key columns, as a row writes them
}

// A stagedRow is one posting.
type stagedRow struct {
	entry int // its index in the batch
	row   span
	keys  int // the index of its first key span

	// Of the posting, for placing it.
	offset   int64
	version  int64
	revision int32
	amount   money.Decimal
}

// maxKeptBytes bounds what a stage keeps for the next batch: a rare huge one
// must not hold its memory for ever.
const maxKeptBytes = 32 << 20

func newStage(t *settle.Table) *stage {
	s := &stage{writer: newRowWriter(t)}
	written := make(map[string]keyColumn, len(t.Key))
	for i, c := range t.Columns {
		if s.writer.isKey[i] {
			written[c.Name] = keyColumn{columnType: c.Type, written: len(written)}
		}
	}
	for _, column := range t.Key {
		s.key = append(s.key, written[column])
	}
	return s
}

// encode puts down the entries that are postings.
func (s *stage) encode(entries []*settle.Entry) error {
	s.writer.reset()
	s.rows = s.rows[:0]
	for i, e := range entries {
		if e.Failure != nil {
			continue
		}
		keys := len(s.writer.keys)
		row, err := s.writer.write(e)
		if err != nil {
			return err
		}
		s.rows = append(s.rows, stagedRow{
			entry: i, row: row, keys: keys,
			offset: e.Record.Offset, version: e.Posting.Version, revision: e.Posting.Revision, amount: e.Posting.Amount,
		})
	}
	slices.SortFunc(s.rows, s.order)
	s.number()
	return nil
}

// order compares two postings by key and then by offset, in which entries are.
func (s *stage) order(a, b stagedRow) int {
	for _, c := range s.key {
		x, y := s.value(a, c.written), s.value(b, c.written)
		if order := compareKeys(c.columnType, x, y); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.entry, b.entry)
}

// sameThing and sameVersion tell whether two rows are postings of one thing, or
// of one version of it: whether they agree in all of the key but its last two
// columns, or its last.
func (s *stage) sameThing(a, b int) bool   { return s.agree(a, b, len(s.key)-2) }
func (s *stage) sameVersion(a, b int) bool { return s.agree(a, b, len(s.key)-1) }

func (s *stage) agree(a, b, columns int) bool {
	for _, c := range s.key[:columns] {
		if !bytes.Equal(s.value(s.rows[a], c.written), s.value(s.rows[b], c.written)) {
			return false
		}
	}
	return true
}

func (s *stage) value(row stagedRow, key int) []byte {
	at := s.writer.keys[row.keys+key]
	return s.writer.buf[at.from:at.to]
}

// compareKeys compares as Postgres does: text by bytes, since key columns are
// COLLATE "C", and integers by value.
func compareKeys(columnType settle.ColumnType, x, y []byte) int {
	if columnType == settle.Text || columnType == settle.Bytes || len(x) != len(y) || len(x) == 0 {
		return bytes.Compare(x, y)
	}
	// Big-endian two's complement: negative first.
	if order := cmp.Compare(int8(x[0]), int8(y[0])); order != 0 {
		return order
	}
	return bytes.Compare(x[1:], y[1:])
}

// hasCopies tells whether any two rows have the same key.
func (s *stage) hasCopies() bool {
	for i := 1; i < len(s.rows); i++ {
		if s.agree(i-1, i, len(s.key)) {
			return true
		}
	}
	return false
}

// number gives each row its place in the order.
func (s *stage) number() {
	s.sorted = s.sorted[:0]
	for position, r := range s.rows {
		binary.BigEndian.PutUint32(s.writer.buf[r.row.from+positionAt:], uint32(position))
		s.sorted = append(s.sorted, r.row)
	}
}

// remove takes one row out; those behind it move up.
func (s *stage) remove(position int) {
	s.rows = slices.Delete(s.rows, position, position+1)
	s.number()
}

// first reads the first n rows as a stream of COPY.
func (s *stage) first(n int) *copyReader {
	return newCopyReader(s.writer.buf, s.sorted[:n])
}

// worthKeeping tells whether the stage is small enough to be kept.
func (s *stage) worthKeeping() bool { return cap(s.writer.buf) <= maxKeptBytes }

// positions decodes the answer of a statement: 4 bytes a position.
func positions(answer []byte) []int32 {
	list := make([]int32, 0, len(answer)/4)
	for ; len(answer) >= 4; answer = answer[4:] {
		list = append(list, int32(binary.BigEndian.Uint32(answer)))
	}
	return list
}
