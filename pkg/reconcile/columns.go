package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tieout/tieout/pkg/producer"
)

// What is read of a statement, by the names that its columns have unless a map
// says otherwise.
const (
	fieldTrade    = "trade_id"
	fieldInterval = "settlement_interval"
	fieldAmount   = "amount"
	fieldNode     = "node_id"
	fieldMWh      = "mwh"
	fieldPrice    = "price"
	fieldCurrency = "currency"
)

// RequiredColumns are those that every statement has.
func RequiredColumns() []string { return []string{fieldTrade, fieldInterval, fieldAmount} }

// OptionalColumns are those that are compared, too, where a statement has them.
func OptionalColumns() []string { return []string{fieldNode, fieldMWh, fieldPrice, fieldCurrency} }

// A columnMap says which column of the statement each field is read from.
type columnMap struct {
	names map[string]string // by field
	read  producer.Columns
	at    map[string]int // by field: its place in the values of a line
}

// newColumnMap takes a map from tieout's names to the statement's. An optional
// column that it names has to be there.
func newColumnMap(names map[string]string) (*columnMap, error) {
	m := &columnMap{names: map[string]string{}, at: map[string]int{}}
	fields := slices.Concat(RequiredColumns(), OptionalColumns())
	for _, field := range slices.Sorted(maps.Keys(names)) {
		switch {
		case !slices.Contains(fields, field):
			return nil, &ColumnError{fmt.Sprintf("there is no field %q to read a column into: there are %s", field, strings.Join(fields, ", "))}
		case names[field] == "":
			return nil, &ColumnError{fmt.Sprintf("the column of %s has no name", field)}
		}
	}
	used := map[string]string{}
	var required, optional []string
	for i, field := range fields {
		column, mapped := names[field]
		if !mapped {
			column = field
		}
		if other, twice := used[column]; twice {
			return nil, &ColumnError{fmt.Sprintf("the column %s can't be both %s and %s", column, other, field)}
		}
		used[column] = field
		m.names[field] = column
		if mapped || i < len(RequiredColumns()) {
			required = append(required, field)
		} else {
			optional = append(optional, field)
		}
	}
	for i, field := range slices.Concat(required, optional) {
		m.at[field] = i
	}
	m.read = producer.Columns{Required: m.columns(required), Optional: m.columns(optional)}
	return m, nil
}

func (m *columnMap) columns(fields []string) []string {
	columns := make([]string, 0, len(fields))
	for _, field := range fields {
		columns = append(columns, m.names[field])
	}
	return columns
}
