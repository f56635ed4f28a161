package sales

import (
	"errors"
	"math"
	"strconv"

	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// CheckForm makes the checks of form that need nothing but the envelope, in
// their order, and returns the key of its identity. A producer makes them before
// it enqueues, a worker when the record arrives.
func (e *Envelope) CheckForm() (reconkey.Key, *settle.Failure) {
	p := &e.Payload
	// The first two have checks of their own for being empty.
	texts := [...]settle.Field{
		{Name: "message_id", Text: e.MessageID},
		{Name: "reconciliation_key", Text: e.ReconciliationKey},
		{Name: "vendor_id", Text: e.VendorID},
		{Name: "correlation_id", Text: e.CorrelationID},
		{Name: "store_id", Text: p.StoreID},
		{Name: "retailer_invoice", Text: p.RetailerInvoice},
		{Name: "line_item_hash", Text: p.LineItemHash},
		{Name: "promo_tier", Text: p.PromoTier},
		{Name: "claim_period", Text: e.ClaimPeriod},
		{Name: "currency", Text: p.Currency},
	}
	if failure := settle.CheckTexts(texts[:]); failure != nil {
		return reconkey.Key{}, failure
	}
	if failure := settle.CheckMessageID(e.MessageID); failure != nil {
		return reconkey.Key{}, failure
	}
	if failure := settle.CheckPresent(texts[2:]); failure != nil {
		return reconkey.Key{}, failure
	}
	if e.AgreementVersion < 1 {
		return reconkey.Key{}, invalidVersion(strconv.Itoa(int(e.AgreementVersion)))
	}
	if !reconkey.CheckClaimPeriod(e.ClaimPeriod) {
		return reconkey.Key{}, settle.Structural(settle.ReasonInvalidClaimPeriod, "claim_period", e.ClaimPeriod).
			WithDetail("want YYYY-Q1 to YYYY-Q4, or YYYY-P01 to YYYY-P13")
	}
	if failure := settle.CheckDate("transaction_date", p.TransactionDate); failure != nil {
		return reconkey.Key{}, failure
	}
	return e.key()
}

// key computes the key of the envelope's identity.
func (e *Envelope) key() (reconkey.Key, *settle.Failure) {
	key, err := reconkey.Sales(e.Payload.RetailerInvoice, e.Payload.LineItemHash, e.Payload.PromoTier, e.ClaimPeriod)
	if err == nil {
		return key, nil
	}
	if separator, ok := errors.AsType[*reconkey.SeparatorError](err); ok {
		return key, settle.Structural(settle.ReasonSeparatorInKeyPart, separator.Part, separator.Value)
	}
	return key, settle.Structural(settle.ReasonKeyMismatch, "reconciliation_key", e.ReconciliationKey).WithDetail("%v", err)
}

// ParseAgreementVersion reads the version that a claim line pins: digits only,
// from 1 to what an Avro int and the ledger's column hold.
func ParseAgreementVersion(text string) (int32, *settle.Failure) {
	if text == "" {
		return 0, settle.Structural(settle.ReasonMissingField, "agreement_version", "")
	}
	version, err := strconv.ParseUint(text, 10, 31)
	if err != nil || version < 1 {
		return 0, invalidVersion(text)
	}
	return int32(version), nil
}

func invalidVersion(text string) *settle.Failure {
	return settle.Structural(settle.ReasonInvalidAgreementVersion, "agreement_version", text).
		WithDetail("want a number from 1 to %d", math.MaxInt32)
}
