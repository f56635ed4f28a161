package reconcile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/streams/findings"
)

// words says what is the matter.
func (f *Finding) words() string {
	switch f.Class {
	case findings.MissingInLedger:
		return fmt.Sprintf("the statement has %s (%s), the ledger has no such trade", f.Statement.Decimal.AmountString(), f.lines())
	case findings.MissingInStatement:
		return fmt.Sprintf("the ledger has %s, the statement has no such line", f.ledgers())
	case findings.DuplicateInStatement:
		return fmt.Sprintf("the statement has it %d times (%s), %s in all; the ledger has %s%s",
			f.LineCount, f.lines(), f.Statement.Decimal.AmountString(), f.ledgers(), f.offBy())
	}
	return fmt.Sprintf("the statement has %s (%s), the ledger %s%s%s",
		f.Statement.Decimal.AmountString(), f.lines(), f.ledgers(), f.offBy(), f.because())
}

// lines names the statement's lines.
func (f *Finding) lines() string {
	numbers := make([]string, 0, len(f.Lines))
	for _, line := range f.Lines {
		numbers = append(numbers, strconv.FormatInt(line, 10))
	}
	text := "line " + strings.Join(numbers, ", ")
	if f.LineCount > 1 {
		text = "lines " + strings.Join(numbers, ", ")
	}
	if f.LineCount > int64(len(f.Lines)) {
		text += ", ..."
	}
	return text
}

// ledgers is what the ledger has, and of which version.
func (f *Finding) ledgers() string {
	switch {
	case !f.Ledger.Valid:
		return "no such trade"
	case f.Newest == nil:
		return fmt.Sprintf("%s over %d nodes", f.Ledger.Decimal.AmountString(), f.Nodes)
	}
	return fmt.Sprintf("%s in %s", f.Ledger.Decimal.AmountString(), f.Newest)
}

// String names the version.
func (v *Version) String() string {
	if v.Revision == 0 {
		return fmt.Sprintf("version %d", v.Number)
	}
	return fmt.Sprintf("version %d, revision %d", v.Number, v.Revision)
}

// offBy says by how much the statement differs.
func (f *Finding) offBy() string {
	switch f.Difference.Sign() {
	case 1:
		return ": " + f.Difference.AmountString() + " more"
	case -1:
		return ": " + f.Difference.Neg().AmountString() + " less"
	}
	return ": the same"
}

// because says what explains it.
func (f *Finding) because() string {
	switch f.Class {
	case findings.Rounding:
		names := make([]string, 0, len(f.Roundings))
		for _, rounding := range f.Roundings {
			names = append(names, rounding.String())
		}
		return fmt.Sprintf("; it is %s x %s rounded %s", shown(f.LedgerMWh), shown(f.LedgerPrice), strings.Join(names, " or "))
	case findings.StaleVersion:
		return fmt.Sprintf("; it is that of %s", f.Stale)
	case findings.Quantity, findings.Price:
		return "; " + strings.Join(f.otherFigures(), ", and ")
	}
	return ""
}

// otherFigures says which of quantity and price differ.
func (f *Finding) otherFigures() (differing []string) {
	for _, figure := range [...]struct {
		name              string
		statement, ledger money.NullDecimal
	}{{"mwh", f.StatementMWh, f.LedgerMWh}, {"price", f.StatementPrice, f.LedgerPrice}} {
		if !agrees(figure.statement, figure.ledger) {
			differing = append(differing, fmt.Sprintf("its %s is %s, the ledger's is %s", figure.name, shown(figure.statement), shown(figure.ledger)))
		}
	}
	return differing
}

// shown is a decimal without the zeros behind its fraction.
func shown(d money.NullDecimal) string { return d.Decimal.Normalize().String() }
