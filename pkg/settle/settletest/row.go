package settletest

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// Null is the value of a column that is null.
const Null = "null"

// A Row is what a posting's row writes, with the type of each column; it has
// none where the column is null.
type Row struct {
	Types  []settle.ColumnType
	Values []string
}

// nullType is the type of a null.
const nullType settle.ColumnType = -1

// RowOf writes a posting's row down.
func RowOf(p settle.Posting) Row {
	var w rowWriter
	p.Row.WriteColumns(&w)
	return w.row
}

// A rowWriter writes decimals down by value.
type rowWriter struct{ row Row }

var _ settle.RowWriter = (*rowWriter)(nil)

func (w *rowWriter) add(columnType settle.ColumnType, value string) {
	w.row.Types = append(w.row.Types, columnType)
	w.row.Values = append(w.row.Values, value)
}

func (w *rowWriter) Null()                   { w.add(nullType, Null) }
func (w *rowWriter) Text(v string)           { w.add(settle.Text, v) }
func (w *rowWriter) Bytes(v []byte)          { w.add(settle.Bytes, hex.EncodeToString(v)) }
func (w *rowWriter) Int32(v int32)           { w.add(settle.Int32, strconv.Itoa(int(v))) }
func (w *rowWriter) Int64(v int64)           { w.add(settle.Int64, strconv.FormatInt(v, 10)) }
func (w *rowWriter) Decimal(v money.Decimal) { w.add(settle.Decimal, v.Normalize().String()) }
func (w *rowWriter) TimestampMicros(v int64) { w.add(settle.Timestamp, strconv.FormatInt(v, 10)) }

// Check says why the row isn't one of the table, or nil: it writes the table's
// columns, all and in order, and what the table names are columns.
func (r *Row) Check(table settle.Table) error {
	if len(r.Types) != len(table.Columns) {
		return fmt.Errorf("%d columns are written, the table has %d", len(r.Types), len(table.Columns))
	}
	names := map[string]bool{"": true}
	for i, column := range table.Columns {
		names[column.Name] = true
		if r.Types[i] != column.Type && r.Types[i] != nullType {
			return fmt.Errorf("column %s is written as another type", column.Name)
		}
	}
	for _, name := range slices.Concat(table.Key, table.Economics, table.Pinned, []string{table.Version, table.Claimed, table.Quantity}) {
		if !names[name] {
			return fmt.Errorf("%s isn't a column", name)
		}
	}
	return nil
}

// CheckQuantity says why what a control sum adds up isn't the same in an
// envelope, in its posting and in the row, or nil.
func CheckQuantity(envelope settle.Envelope, posting settle.Posting, table settle.Table) error {
	stated, failure := settle.DecodeDecimal(table.Quantity, envelope.Quantity(), settle.DecimalScale)
	if failure != nil {
		return fmt.Errorf("the envelope's: %s", failure.Message())
	}
	column := slices.IndexFunc(table.Columns, func(c settle.Column) bool { return c.Name == table.Quantity })
	row := RowOf(posting)
	if column < 0 || column >= len(row.Values) {
		return fmt.Errorf("%q isn't a column of the row", table.Quantity)
	}
	want, got := stated.Normalize().String(), posting.Quantity
	if !got.Valid || !got.Decimal.Equal(stated) || row.Values[column] != want {
		return fmt.Errorf("the envelope has %s, the posting %v, the row %s", want, got, row.Values[column])
	}
	return nil
}
