package findings

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// A finding is one finding on its way to the ledger. One allocation holds it
// all.
type finding struct {
	envelope  Envelope
	key       reconkey.Key
	statement money.NullDecimal
	ledger    money.NullDecimal
}

// Currency is that of both amounts: the trades'.
const Currency = "USD"

// Envelope, ReadFigures, Posting, CheckContent and Amount are settle.Draft's.

func (f *finding) Envelope() settle.Envelope { return &f.envelope }

func (f *finding) ReadFigures() (beyond, failure *settle.Failure) {
	var figures settle.FigureReader
	figures.ReadNullable("statement_amount", f.envelope.StatementAmount, &f.statement)
	figures.ReadNullable("ledger_amount", f.envelope.LedgerAmount, &f.ledger)
	return figures.Result()
}

func (f *finding) Posting(key reconkey.Key) settle.Posting {
	f.key = key
	return settle.Posting{Version: onlyVersion, Revision: settle.OriginalRevision, Currency: f.envelope.Currency, Row: f}
}

// onlyVersion is the version of every finding: there is nothing in one to
// correct.
const onlyVersion = 0

func (f *finding) CheckContent() *settle.Failure {
	if f.envelope.Currency != Currency {
		return settle.Business(settle.ReasonUnsupportedCurrency, "currency", f.envelope.Currency).WithDetail("want " + Currency)
	}
	return nil
}

// Amount is what the ledger holds, nothing where it has no such trade, and what
// the statement bills.
func (f *finding) Amount() (amount money.Decimal, claimed money.NullDecimal, failure *settle.Failure) {
	// An amount is what it was rounded to: anything finer was never the ledger's.
	amount, failure = settle.Product(f.ledger.Decimal, money.MustParse("1"), money.HalfEven)
	switch {
	case failure != nil:
	case !amount.Equal(f.ledger.Decimal):
		failure = settle.Business(settle.ReasonOutOfRange, "ledger_amount", f.ledger.Decimal.AmountString()).
			WithDetail("the ledger's amounts have two fraction digits")
	case f.statement.Valid && !f.statement.Decimal.Sub(amount).InRange():
		failure = settle.Business(settle.ReasonOutOfRange, "statement_amount", f.statement.Decimal.AmountString()).
			WithDetail("its difference from %s doesn't fit numeric(38,9)", amount)
	}
	return amount, f.statement, failure
}
