// Package findings is the stream of differences between a market operator's
// statement and the ledger of trades, as `tieout reconcile` finds them. Each is
// a dispute. A finding is all that it says: found again, it's a duplicate; with
// another amount on either side it's another one.
package findings

import (
	"time"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
)

// Stream is the stream of findings. It has no state.
type Stream struct{}

// New returns the stream.
func New() settle.Stream { return Stream{} }

// Name is the stream's name.
func (Stream) Name() string { return "findings" }

// Envelope is the schema of the stream's records, and what they're decoded into.
func (Stream) Envelope() (schema string, target any) { return schemas.Finding, Envelope{} }

// Table describes the stream's ledger.
func (Stream) Table() settle.Table { return table() }

// RetryPolicy is that of the trades, which the findings are about.
func (Stream) RetryPolicy() settle.RetryPolicy {
	return settle.RetryPolicy{Attempts: 4, First: time.Second, Max: 4 * time.Second}
}

// Settle makes a posting of a finding, or says why it can't be one. Whatever the
// amounts are, it's a dispute: also where they agree and a quantity doesn't, and
// where one of them is missing.
func (Stream) Settle(record *settle.Record, body []byte, decoder settle.Decoder) (settle.Posting, *settle.Failure) {
	posting, failure := settle.Settle(record, body, decoder, new(finding))
	if failure == nil {
		posting.Outcome = settle.Dispute
	}
	return posting, failure
}
