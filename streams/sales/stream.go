// Package sales is the stream of vendor claim lines against promotional
// agreements: accrual = qualifying_units x tier_rate, half up to the cent. It
// checks form and arithmetic; who may claim what is decided upstream.
package sales

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
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

// Settle makes a posting of a record, or says why it can't be one: form first,
// then content, each in a fixed order, so that a bad record is the same dead
// letter each time it arrives. Conflicts and duplicates are the ledger's to
// find. Beside a failure, the posting holds what was established before it.
func (Stream) Settle(record *settle.Record, body []byte, decoder settle.Decoder) (settle.Posting, *settle.Failure) {
	r := new(row)
	beyond, failure := r.readForm(record, body, decoder)
	if failure != nil {
		return settle.Posting{CorrelationID: r.correlationID()}, failure
	}
	posting := settle.Posting{
		Key:           r.key,
		Version:       int64(r.envelope.AgreementVersion),
		Revision:      originalRevision,
		Currency:      r.envelope.Payload.Currency,
		CorrelationID: r.envelope.CorrelationID,
		Row:           r,
	}
	if failure = r.checkContent(); failure != nil {
		return posting, failure
	}
	if beyond != nil {
		return posting, beyond
	}
	failure = r.settle(&posting)
	return posting, failure
}

// readForm decodes the record and makes all checks of form. Figures that are
// out of range are a matter of content, and returned as beyond.
func (r *row) readForm(record *settle.Record, body []byte, decoder settle.Decoder) (beyond, failure *settle.Failure) {
	if err := decoder.Decode(body, &r.envelope); err != nil {
		r.envelope = Envelope{} // nothing in it can be believed
		return nil, settle.Structural(settle.ReasonUndecodable, "", "").WithDetail("%v", err)
	}
	beyond, failure = r.decode(&r.envelope.Payload)
	if failure != nil {
		return nil, failure
	}
	if r.key, failure = r.envelope.CheckForm(); failure != nil {
		return nil, failure
	}
	if failure = r.checkKey(record.Key); failure != nil {
		return nil, failure
	}
	return beyond, settle.CheckHeaders(record)
}

// checkKey compares the three keys that must be one: of the identity, in the
// envelope, and of the record, by which its partition and so its order is
// chosen.
func (r *row) checkKey(recordKey []byte) *settle.Failure {
	var buffer [2 * len(reconkey.Key{})]byte
	computed := r.key.AppendHex(buffer[:0])
	stated := r.envelope.ReconciliationKey
	switch {
	case stated != string(computed):
		return settle.Structural(settle.ReasonKeyMismatch, "reconciliation_key", stated).
			WithDetail("the key of this identity is %s", r.key.Hex())
	case stated != string(recordKey):
		return settle.Structural(settle.ReasonKeyMismatch, "reconciliation_key", stated).
			WithDetail("the record itself has another key, or none")
	}
	return nil
}

// correlationID returns the correlation id where it can be kept.
func (r *row) correlationID() string {
	if settle.CheckText("correlation_id", r.envelope.CorrelationID) != nil {
		return ""
	}
	return r.envelope.CorrelationID
}

// checkContent makes the checks of content that need no arithmetic.
func (r *row) checkContent() *settle.Failure {
	p := &r.envelope.Payload
	switch p.PromoTier {
	case "BRONZE", "SILVER", "GOLD", "PLATINUM":
	default:
		return settle.Business(settle.ReasonInvalidPromoCode, "promo_tier", p.PromoTier).
			WithDetail("want BRONZE, SILVER, GOLD or PLATINUM")
	}
	if r.units.Sign() < 0 {
		return settle.Business(settle.ReasonNegativeUnits, "qualifying_units", shown(r.units))
	}
	if r.rate.Sign() < 0 {
		return settle.Business(settle.ReasonNegativeRate, "tier_rate", shown(r.rate))
	}
	if !twoMinorDigits(p.Currency) {
		return settle.Business(settle.ReasonUnsupportedCurrency, "currency", p.Currency).
			WithDetail("want an ISO 4217 code with two minor digits, in upper case")
	}
	return nil
}

// settle computes the amount, and what the claim differs from it by.
func (r *row) settle(posting *settle.Posting) *settle.Failure {
	amount, err := money.Amount(r.units, r.rate, money.HalfUp)
	if err != nil {
		return settle.Business(settle.ReasonOutOfRange, "amount", shown(r.units)+" x "+shown(r.rate)).WithDetail("%v", err)
	}
	posting.SettlePosting(amount, r.claimed)
	if !posting.Difference.Decimal.InRange() {
		// Such a claim fits its column, but what it's off by doesn't.
		return settle.Business(settle.ReasonOutOfRange, "claimed_amount", shown(r.claimed.Decimal)).
			WithDetail("its difference from %s doesn't fit numeric(38,9)", amount)
	}
	return nil
}

// shown is a decimal without the zeros that its encoding adds.
func shown(d money.Decimal) string { return d.Normalize().String() }
