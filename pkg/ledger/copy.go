package ledger

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// Binary COPY, written by hand into one reused buffer: pgx's own way costs about
// ten allocations a numeric, which is half of a worker's time.

// copyHeader opens a stream of binary COPY: signature, flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyTrailer closes it.
const copyTrailer = "\xff\xff"

// postgresEpochMicros is 2000-01-01 in microseconds since the Unix epoch.
const postgresEpochMicros = 946_684_800_000_000

// A rowWriter writes staged rows: the position, the stream's own columns, which
// it takes as a settle.RowWriter, and those that every ledger has.
type rowWriter struct {
	table  *settle.Table
	types  []settle.ColumnType // of the stream's columns
	isKey  []bool              // which of them are in the key
	fields uint16              // of a staged row

	buf    []byte
	column int    // the stream's column to come
	keys   []span // where the key columns of all rows are in buf
	err    error  // the first row that doesn't fit its table
	offset int64  // of the row in hand
}

// A span is a part of a buffer.
type span struct{ from, to int }

// positionAt is where a row's position is, behind the count of its fields and
// its own length.
const positionAt = 2 + 4

var _ settle.RowWriter = (*rowWriter)(nil)

func newRowWriter(t *settle.Table) *rowWriter {
	w := &rowWriter{table: t}
	inKey := make(map[string]bool, len(t.Key))
	for _, column := range t.Key {
		inKey[column] = true
	}
	for _, c := range t.Columns {
		w.types = append(w.types, c.Type)
		w.isKey = append(w.isKey, inKey[c.Name])
	}
	w.fields = uint16(1 + len(t.Columns) + len(commonColumns()))
	return w
}

func (w *rowWriter) reset() {
	w.buf, w.keys, w.err = w.buf[:0], w.keys[:0], nil
}

// write appends one entry's row and returns where it is.
func (w *rowWriter) write(e *settle.Entry) (span, error) {
	from := len(w.buf)
	w.offset, w.column = e.Record.Offset, 0
	w.buf = binary.BigEndian.AppendUint16(w.buf, w.fields)
	w.int32(0) // the position, once it's known
	p := &e.Posting
	if p.Row == nil {
		return span{}, &RowError{Table: w.table.Name, Offset: w.offset, Why: "the posting has none"}
	}
	p.Row.WriteColumns(w)
	if w.err == nil && w.column != len(w.types) {
		w.fail("%d columns are written, the table has %d", w.column, len(w.types))
	}
	w.decimal(p.Amount, amountScale)
	w.text(string(p.Outcome))
	w.text(e.Delivery.RunID)
	w.text(e.Delivery.Delivery)
	w.text(p.CorrelationID)
	w.int64(w.offset)
	if p.PrevVersion == nil {
		w.null()
	} else {
		w.int64(*p.PrevVersion)
	}
	if p.PrevAmount.Valid {
		w.decimal(p.PrevAmount.Decimal, amountScale)
	} else {
		w.null()
	}
	return span{from, len(w.buf)}, w.err
}

// own begins a value of the stream's own columns, of which it's the next.
func (w *rowWriter) own(columnType settle.ColumnType) {
	switch {
	case w.column >= len(w.types):
		w.fail("more columns are written than the table's %d", len(w.types))
	case w.types[w.column] != columnType:
		w.fail("column %s is written as another type", w.table.Columns[w.column].Name)
	}
	w.column++
}

// key notes where the value just written is, if it's in the key.
func (w *rowWriter) key(length int) {
	if at := w.column - 1; at < len(w.isKey) && w.isKey[at] {
		w.keys = append(w.keys, span{len(w.buf) - length, len(w.buf)})
	}
}

func (w *rowWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = &RowError{Table: w.table.Name, Offset: w.offset, Why: fmt.Sprintf(format, args...)}
	}
}

// Null, Text, Bytes, Int32, Int64, Decimal and TimestampMicros are
// settle.RowWriter's.

func (w *rowWriter) Null() {
	w.column++ // of any type
	w.null()
	w.key(0)
}

func (w *rowWriter) Text(value string) {
	w.own(settle.Text)
	w.text(value)
	w.key(len(value))
}

func (w *rowWriter) Bytes(value []byte) {
	w.own(settle.Bytes)
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(value)))
	w.buf = append(w.buf, value...)
	w.key(len(value))
}

func (w *rowWriter) Int32(value int32) {
	w.own(settle.Int32)
	w.int32(value)
	w.key(4)
}

func (w *rowWriter) Int64(value int64) {
	w.own(settle.Int64)
	w.int64(value)
	w.key(8)
}

func (w *rowWriter) Decimal(value money.Decimal) {
	w.own(settle.Decimal)
	w.decimal(value, columnScale)
}

func (w *rowWriter) TimestampMicros(value int64) {
	w.own(settle.Timestamp)
	// Below this, the difference would wrap around, or mean -infinity; what is
	// written instead is still so early that Postgres refuses it.
	const earliest = math.MinInt64 + 1 + postgresEpochMicros
	w.int64(max(value, earliest) - postgresEpochMicros)
	w.key(8)
}

func (w *rowWriter) null() {
	w.buf = append(w.buf, 0xff, 0xff, 0xff, 0xff)
}

func (w *rowWriter) text(value string) {
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(value)))
	w.buf = append(w.buf, value...)
}

func (w *rowWriter) int32(value int32) {
	w.buf = binary.BigEndian.AppendUint32(w.buf, 4)
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(value))
}

func (w *rowWriter) int64(value int64) {
	w.buf = binary.BigEndian.AppendUint32(w.buf, 8)
	w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(value))
}

func (w *rowWriter) decimal(value money.Decimal, scale int32) {
	if !fitsScale(value, scale) {
		w.fail("decimal %s has more than %d fraction digits", value, scale)
		return
	}
	w.buf = appendNumeric(w.buf, value)
}

// A copyReader reads rows, in the order given, as one stream of COPY.
type copyReader struct {
	buf  []byte
	rows []span
	next int    // the row in hand
	at   int    // how much of it is read
	part string // what is left of the header, or of the trailer
	last bool   // the trailer was begun
}

func newCopyReader(buf []byte, rows []span) *copyReader {
	return &copyReader{buf: buf, rows: rows, part: copyHeader}
}

func (r *copyReader) Read(into []byte) (n int, err error) {
	for n < len(into) {
		switch {
		case r.part != "":
			copied := copy(into[n:], r.part)
			r.part = r.part[copied:]
			n += copied
		case r.next < len(r.rows):
			row := r.rows[r.next]
			copied := copy(into[n:], r.buf[row.from+r.at:row.to])
			n += copied
			if r.at += copied; row.from+r.at == row.to {
				r.next, r.at = r.next+1, 0
			}
		case !r.last:
			r.part, r.last = copyTrailer, true
		case n > 0:
			return n, nil
		default:
			return 0, io.EOF
		}
	}
	return n, nil
}
