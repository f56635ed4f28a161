// Package trades is the stream of energy trade versions: charge = mwh x price,
// half even to the cent, either of them negative or not. The newest version of a
// trade is the one that counts; whether it's what the market operator bills is
// found by reconciling, not here.
package trades

import (
	"time"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
)

// Stream is the stream of trades. It has no state.
type Stream struct{}

// New returns the stream.
func New() settle.Stream { return Stream{} }

// Name is the stream's name.
func (Stream) Name() string { return "trades" }

// Envelope is the schema of the stream's records, and what they're decoded into.
func (Stream) Envelope() (schema string, target any) { return schemas.TradeRecord, Envelope{} }

// Table describes the stream's ledger.
func (Stream) Table() settle.Table { return table() }

// RetryPolicy is four attempts, with 1, 2 and 4 seconds in between.
func (Stream) RetryPolicy() settle.RetryPolicy {
	return settle.RetryPolicy{Attempts: 4, First: time.Second, Max: 4 * time.Second}
}

// Settle makes a posting of a trade's version, or says why it can't be one.
func (Stream) Settle(record *settle.Record, body []byte, decoder settle.Decoder) (settle.Posting, *settle.Failure) {
	return settle.Settle(record, body, decoder, new(trade))
}
