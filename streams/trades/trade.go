package trades

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// A trade is one version of a trade on its way to the ledger. One allocation
// holds it all.
type trade struct {
	envelope       Envelope
	key            reconkey.Key
	idempotencyKey reconkey.Key
	mwh            money.Decimal
	price          money.Decimal
}

// Envelope, ReadFigures, Posting, CheckContent and Amount are settle.Draft's.

func (t *trade) Envelope() settle.Envelope { return &t.envelope }

func (t *trade) ReadFigures() (beyond, failure *settle.Failure) {
	var figures settle.FigureReader
	figures.Read("mwh", t.envelope.MWh, &t.mwh)
	figures.Read("price", t.envelope.Price, &t.price)
	return figures.Result()
}

func (t *trade) Posting(key reconkey.Key) settle.Posting {
	e := &t.envelope
	t.key = key
	t.idempotencyKey = reconkey.TradeVersion(e.NodeID, e.SettlementInterval, e.TradeID, e.Version)
	return settle.Posting{
		Version:  e.Version,
		Revision: settle.OriginalRevision,
		Quantity: money.NullDecimal{Decimal: t.mwh, Valid: true},
		Currency: e.Currency,
		Row:      t,
	}
}

func (t *trade) CheckContent() *settle.Failure {
	if t.envelope.Currency != currency {
		return settle.Business(settle.ReasonUnsupportedCurrency, "currency", t.envelope.Currency).WithDetail("want " + currency)
	}
	return nil
}

// currency is the market operator's.
const currency = "USD"

func (t *trade) Amount() (amount money.Decimal, claimed money.NullDecimal, failure *settle.Failure) {
	amount, failure = settle.Product(t.mwh, t.price, money.HalfEven)
	return amount, claimed, failure
}
