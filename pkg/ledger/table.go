package ledger

import (
	"fmt"
	"slices"

	"github.com/tieout/tieout/pkg/settle"
)

// Columns that every stream's table has among its own.
const (
	columnKey      = "reconciliation_key"
	columnRevision = "revision"
	columnCurrency = "currency"
)

// Scales of the decimals that every ledger has, numeric(18,2), and of a
// stream's own, numeric(38,9).
const (
	amountScale = 2
	columnScale = 9
)

// commonColumns come behind a stream's own in a staged row. Source, rules and
// time are one value a batch and are not staged.
func commonColumns() []settle.Column {
	return []settle.Column{
		{Name: "amount", Type: settle.Decimal},
		{Name: "outcome", Type: settle.Text},
		{Name: "run_id", Type: settle.Text},
		{Name: "delivery", Type: settle.Text},
		{Name: "correlation_id", Type: settle.Text},
		{Name: "source_offset", Type: settle.Int64},
		{Name: "prev_version", Type: settle.Int64},
		{Name: "prev_amount", Type: settle.Decimal},
	}
}

// checkTable tells why a stream's table can't be a ledger, or nil.
func checkTable(t *settle.Table) error {
	refuse := func(format string, args ...any) error {
		return &TableError{Table: t.Name, Why: fmt.Sprintf(format, args...)}
	}
	if err := checkNames(name{"Table", t.Name}); err != nil {
		return err
	}
	types := make(map[string]settle.ColumnType, len(t.Columns))
	for _, c := range t.Columns {
		if err := checkNames(name{"Table " + t.Name + " column", c.Name}); err != nil {
			return err
		}
		if _, twice := types[c.Name]; twice {
			return refuse("column %s is there twice", c.Name)
		}
		types[c.Name] = c.Type
	}
	for _, c := range commonColumns() {
		if _, ok := types[c.Name]; ok {
			return refuse("column %s is one that every ledger has", c.Name)
		}
	}
	for _, named := range [][]string{t.Key, t.Economics, t.Pinned} {
		for _, column := range named {
			if _, ok := types[column]; !ok {
				return refuse("column %s isn't one of its columns", column)
			}
		}
	}
	if len(t.Key) == 0 || len(t.Economics) == 0 {
		return refuse("it needs a key and economics")
	}
	for _, column := range t.Key {
		if types[column] == settle.Decimal {
			return refuse("column %s is a decimal: equal keys would have unequal bytes", column)
		}
	}
	if err := checkNamedColumns(t, types, refuse); err != nil {
		return err
	}
	return checkVersions(t, refuse)
}

// checkVersions checks that a thing is named by the first columns of the key.
func checkVersions(t *settle.Table, refuse func(string, ...any) error) error {
	last := t.Key[max(0, len(t.Key)-2):]
	switch {
	case t.SameVersion == settle.Revise && !t.Versioned():
		return refuse("it can't revise: its version isn't in its key")
	case t.Versioned() && !slices.Equal(last, []string{t.Version, columnRevision}):
		return refuse("its key has to end in %s, %s", t.Version, columnRevision)
	}
	return nil
}

// checkNamedColumns checks what a posting is read back from.
func checkNamedColumns(t *settle.Table, types map[string]settle.ColumnType, refuse func(string, ...any) error) error {
	has := func(column string, allowed ...settle.ColumnType) bool {
		columnType, ok := types[column]
		return ok && slices.Contains(allowed, columnType)
	}
	switch {
	case !has(columnKey, settle.Bytes) || !slices.Contains(t.Key, columnKey):
		return refuse("its key has no %s", columnKey)
	case !has(columnRevision, settle.Int32) || !slices.Contains(t.Key, columnRevision):
		return refuse("its key has no %s", columnRevision)
	case !has(columnCurrency, settle.Text):
		return refuse("it has no %s", columnCurrency)
	case !has(t.Version, settle.Int32, settle.Int64):
		return refuse("version %q isn't one of its integers", t.Version)
	case t.Claimed != "" && !has(t.Claimed, settle.Decimal):
		return refuse("claimed %q isn't one of its decimals", t.Claimed)
	case t.Quantity != "" && !has(t.Quantity, settle.Decimal):
		return refuse("quantity %q isn't one of its decimals", t.Quantity)
	}
	return nil
}
