// Package sales is the stream of vendor claim lines against promotional
// agreements: accrual = qualifying_units x tier_rate, half up to the cent. It
// checks form and arithmetic; who may claim what is decided upstream.
package sales

import (
	"time"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
)

// Stream is the sales stream. It has no state.
type Stream struct{}

// New returns the stream.
func New() settle.Stream { return Stream{} }

// Name is the stream's name.
func (Stream) Name() string { return "sales" }

// Envelope is the schema of the stream's records, and what they're decoded into.
func (Stream) Envelope() (schema string, target any) { return schemas.SalesEnvelope, Envelope{} }

// Table describes the stream's ledger.
func (Stream) Table() settle.Table { return table() }

// RetryPolicy is five attempts, with min(2^attempt, 60) + U(0, attempt) seconds
// behind each.
func (Stream) RetryPolicy() settle.RetryPolicy {
	return settle.RetryPolicy{Attempts: 5, First: 2 * time.Second, Max: time.Minute, Jitter: time.Second}
}

// Settle makes a posting of a claim, or says why it can't be one.
func (Stream) Settle(record *settle.Record, body []byte, decoder settle.Decoder) (settle.Posting, *settle.Failure) {
	return settle.Settle(record, body, decoder, new(claim))
}
