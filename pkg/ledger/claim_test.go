package ledger

import (
	"crypto/sha256"
	"time"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// A claim is a posting of the stream sales, without its envelope.
type claim struct {
	period    string
	key       reconkey.Key
	invoice   string
	agreement int32
	vendor    string
	date      int64
	units     money.Decimal
	rate      money.Decimal
	claimed   money.NullDecimal
	currency  string
}

var _ settle.Row = (*claim)(nil)

func (c *claim) WriteColumns(w settle.RowWriter) {
	w.Text(c.period)
	w.Bytes(c.key[:])
	w.Int32(0)
	w.Text(c.invoice)
	w.Text("948466bb4f1bc1aba32ca53941487177")
	w.Text("GOLD")
	w.Int32(c.agreement)
	w.Text(c.vendor)
	w.Text("STORE-1")
	w.TimestampMicros(c.date)
	w.Decimal(c.units)
	w.Decimal(c.rate)
	if c.claimed.Valid {
		w.Decimal(c.claimed.Decimal)
	} else {
		w.Null()
	}
	w.Text(c.currency)
}

// newClaim makes the claim of an invoice: two of the same name are copies.
func newClaim(invoice string, change ...func(*claim)) *settle.Entry {
	c := &claim{
		period: "2011-Q1", key: sha256.Sum256([]byte(invoice)), invoice: invoice, agreement: 8, vendor: "V252",
		date: 1_291_192_000_000_000, units: money.MustParse("3"), rate: money.MustParse("0.4463"), currency: "GBP",
	}
	for _, f := range change {
		f(c)
	}
	e := &settle.Entry{
		Delivery: settle.Delivery{RunID: "december", Delivery: "01JDELIVERY"},
		Record: settle.Record{
			Topic: testGroup, Key: []byte(c.key.Hex()), Value: []byte("value of " + invoice),
			Timestamp: time.UnixMilli(1_300_000_000_000),
			Headers:   []settle.Header{{Key: settle.HeaderCorrelationID, Value: []byte("corr-" + invoice)}},
		},
		Posting: settle.Posting{
			Key: c.key, Version: int64(c.agreement), Currency: c.currency, CorrelationID: "corr-" + invoice, Row: c,
			Quantity: money.NullDecimal{Decimal: c.units, Valid: true},
		},
	}
	e.Posting.SettlePosting(money.MustParse("1.34"), c.claimed)
	return e
}

func claims(invoice string) func(*claim) {
	return func(c *claim) { c.claimed = money.NullDecimal{Decimal: money.MustParse(invoice), Valid: true} }
}

// failing makes a record that is a dead letter before the ledger sees it.
func failing(f *settle.Failure) *settle.Entry {
	e := newClaim("bad")
	e.Posting, e.Failure = settle.Posting{}, f
	return e
}

func outcomes(entries []*settle.Entry) []settle.Outcome {
	list := make([]settle.Outcome, len(entries))
	for i, e := range entries {
		list[i] = e.Outcome
	}
	return list
}
