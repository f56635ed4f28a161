package settle

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
)

// OriginalRevision is the revision of every posting that corrects no other one
// of its version.
const OriginalRevision = 0

// An Envelope is a stream's record as its schema has it: what a producer fills
// in and a worker decodes into. It's implemented by a pointer.
type Envelope interface {
	// Stated returns what the envelope says its reconciliation key is, and its
	// correlation id; neither is checked.
	Stated() (key, correlationID string)

	// Quantity returns the unscaled bytes, of DecimalScale, of what the
	// delivery's control sum adds up: the column that Table.Quantity names.
	// nil: the stream has none.
	Quantity() []byte

	// CheckForm makes the checks of form that need nothing but the envelope, in
	// their order, and returns the key of its identity. A producer makes them
	// before it enqueues, a worker when the record arrives.
	CheckForm() (reconkey.Key, *Failure)
}

// A Draft is one record of a stream on its way to being a posting: what is
// particular to the stream. Settle asks for it in the order in which the methods
// stand here.
type Draft interface {
	// Envelope is where the record's body is decoded into.
	Envelope() Envelope

	// ReadFigures reads the envelope's decimals. What isn't a number is the
	// failure. A number out of range counts as content, last of all checks, and
	// is returned as beyond.
	ReadFigures() (beyond, failure *Failure)

	// Posting begins the posting of a record whose form is good: version,
	// revision, quantity, currency and row.
	Posting(key reconkey.Key) Posting

	// CheckContent makes the checks of content that need no arithmetic.
	CheckContent() *Failure

	// Amount computes what is posted; claimed is what the record itself says
	// that should be.
	Amount() (amount money.Decimal, claimed money.NullDecimal, failure *Failure)
}

// Settle takes a record of any stream through its checks: form first, then
// content, each in a fixed order, so that a bad record is the same dead letter
// each time it arrives. Conflicts and duplicates are the ledger's to find. Beside
// a failure, the posting holds what was established before it.
func Settle(record *Record, body []byte, decoder Decoder, draft Draft) (Posting, *Failure) {
	envelope := draft.Envelope()
	if err := decoder.Decode(body, envelope); err != nil {
		return Posting{}, Structural(ReasonUndecodable, "", "").WithDetail("%v", err)
	}
	stated, correlationID := envelope.Stated()
	if CheckText("correlation_id", correlationID) != nil {
		correlationID = "" // it can't be kept
	}
	beyond, failure := draft.ReadFigures()
	if failure != nil {
		return Posting{CorrelationID: correlationID}, failure
	}
	key, failure := checkForm(record, envelope, stated)
	if failure != nil {
		return Posting{CorrelationID: correlationID}, failure
	}
	posting := draft.Posting(key)
	posting.Key, posting.CorrelationID = key, correlationID
	if beyond != nil {
		posting.Quantity.Valid = false // the limit of the range may stand in its place
	}
	if failure := draft.CheckContent(); failure != nil {
		return posting, failure
	}
	if beyond != nil {
		return posting, beyond
	}
	amount, claimed, failure := draft.Amount()
	if failure != nil {
		return posting, failure
	}
	posting.SettlePosting(amount, claimed)
	return posting, nil
}

// checkForm makes the checks of form behind decoding.
func checkForm(record *Record, envelope Envelope, stated string) (reconkey.Key, *Failure) {
	key, failure := envelope.CheckForm()
	if failure != nil {
		return key, failure
	}
	if failure := checkKey(key, stated, record.Key); failure != nil {
		return key, failure
	}
	return key, CheckHeaders(record)
}

// checkKey compares the three keys that must be one: of the identity, in the
// envelope, and of the record, by which its partition and so its order is
// chosen.
func checkKey(computed reconkey.Key, stated string, recordKey []byte) *Failure {
	var buffer [2 * len(reconkey.Key{})]byte
	switch {
	case stated != string(computed.AppendHex(buffer[:0])):
		return Structural(ReasonKeyMismatch, "reconciliation_key", stated).
			WithDetail("the key of this identity is %s", computed.Hex())
	case stated != string(recordKey):
		return Structural(ReasonKeyMismatch, "reconciliation_key", stated).
			WithDetail("the record itself has another key, or none")
	}
	return nil
}
