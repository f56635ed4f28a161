package sales

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

// A fault is one thing wrong with an arrival, and what it must be called.
type fault struct {
	name   string
	class  settle.Class
	reason settle.Reason
	field  string

	// One of the two spoils the arrival: before it's given its key, or after.
	claim  func(*Envelope)
	record func(*arrival)
}

func structural(reason settle.Reason, field, name string) fault {
	return fault{name: name, class: settle.ClassStructural, reason: reason, field: field}
}

func business(reason settle.Reason, field, name string) fault {
	return fault{name: name, class: settle.ClassBusiness, reason: reason, field: field}
}

func (f fault) inClaim(spoil func(*Envelope)) fault { f.claim = spoil; return f }

func (f fault) inRecord(spoil func(*arrival)) fault { f.record = spoil; return f }

func withHeader(key, value string) func(*arrival) {
	return func(a *arrival) {
		a.record.Headers = append(a.record.Headers, settle.Header{Key: key, Value: []byte(value)})
	}
}

// beyondRange is 2^128 or -2^128, which no decimal of 38 digits is.
func beyondRange(negative bool) []byte {
	if negative {
		return append([]byte{0xff}, make([]byte, 16)...)
	}
	return append([]byte{1}, make([]byte, 16)...)
}

// faultsInOrder are all faults that Settle finds, in the order in which it
// finds them: of two, the upper one is the reason.
func faultsInOrder(t *testing.T) []fault {
	t.Helper()
	long := strings.Repeat("x", settle.MaxTextBytes+1)
	return []fault{
		structural(settle.ReasonUndecodable, "", "doesn't decode").
			inRecord(func(a *arrival) { a.decoder.err = errors.New("three bytes are left over") }),
		structural(settle.ReasonUndecodable, "qualifying_units", "units without bytes").
			inClaim(func(e *Envelope) { e.Payload.QualifyingUnits = []byte{} }),
		structural(settle.ReasonUndecodable, "tier_rate", "rate that is null").
			inClaim(func(e *Envelope) { e.Payload.TierRate = nil }),
		structural(settle.ReasonUndecodable, "claimed_amount", "claim without bytes").
			inClaim(func(e *Envelope) { e.Payload.ClaimedAmount = []byte{} }),
		structural(settle.ReasonInvalidText, "vendor_id", "vendor with NUL").
			inClaim(func(e *Envelope) { e.VendorID = "V\x00" }),
		structural(settle.ReasonInvalidText, "store_id", "store that isn't UTF-8").
			inClaim(func(e *Envelope) { e.Payload.StoreID = "STORE-\xff" }),
		structural(settle.ReasonInvalidText, "currency", "currency that is half a surrogate pair").
			inClaim(func(e *Envelope) { e.Payload.Currency = "\xed\xa0\x80" }),
		structural(settle.ReasonFieldTooLong, "correlation_id", "correlation too long").
			inClaim(func(e *Envelope) { e.CorrelationID = long }),
		structural(settle.ReasonFieldTooLong, "retailer_invoice", "invoice too long").
			inClaim(func(e *Envelope) { e.Payload.RetailerInvoice = long }),
		structural(settle.ReasonInvalidMessageID, "message_id", "message id that isn't one").
			inClaim(func(e *Envelope) { e.MessageID = "01JDVQ0000000000000000000U" }),
		structural(settle.ReasonMissingField, "vendor_id", "no vendor").
			inClaim(func(e *Envelope) { e.VendorID = "" }),
		structural(settle.ReasonMissingField, "correlation_id", "no correlation").
			inClaim(func(e *Envelope) { e.CorrelationID = "" }),
		structural(settle.ReasonMissingField, "retailer_invoice", "no invoice").
			inClaim(func(e *Envelope) { e.Payload.RetailerInvoice = "" }),
		structural(settle.ReasonInvalidAgreementVersion, "agreement_version", "version 0").
			inClaim(func(e *Envelope) { e.AgreementVersion = 0 }),
		structural(settle.ReasonInvalidClaimPeriod, "claim_period", "period 14").
			inClaim(func(e *Envelope) { e.ClaimPeriod = "2010-P14" }),
		structural(settle.ReasonInvalidDate, "transaction_date", "date that no calendar shows").
			inClaim(func(e *Envelope) { e.Payload.TransactionDate = endDateMicros }),
		structural(settle.ReasonSeparatorInKeyPart, "retailer_invoice", "separator in the invoice").
			inClaim(func(e *Envelope) { e.Payload.RetailerInvoice = "A|B" }),
		structural(settle.ReasonSeparatorInKeyPart, "promo_tier", "separator in the tier").
			inClaim(func(e *Envelope) { e.Payload.PromoTier = "GOLD|X" }),
		structural(settle.ReasonKeyMismatch, "reconciliation_key", "another identity's key").
			inRecord(func(a *arrival) {
				a.envelope().ReconciliationKey = strings.Repeat("0", 64)
				a.record.Key = []byte(a.envelope().ReconciliationKey)
			}),
		structural(settle.ReasonKeyMismatch, "reconciliation_key", "record without key").
			inRecord(func(a *arrival) { a.record.Key = nil }),
		structural(settle.ReasonUnknownRecalculation, settle.HeaderRunKind, "recalculation").
			inRecord(withHeader(settle.HeaderRunKind, "recalculation")),
		structural(settle.ReasonUnknownOrigin, settle.HeaderOrigin, "copy of nothing").
			inRecord(withHeader(settle.HeaderOrigin, "AAAAAAAAAAAAAAAAAAAAAA/0/1")),
		structural(settle.ReasonUnknownOrigin, settle.HeaderRelease, "release of nothing").
			inRecord(withHeader(settle.HeaderRelease, "1")),
		business(settle.ReasonInvalidPromoCode, "promo_tier", "unknown tier").
			inClaim(func(e *Envelope) { e.Payload.PromoTier = "gold" }),
		business(settle.ReasonNegativeUnits, "qualifying_units", "negative units").
			inClaim(func(e *Envelope) { e.Payload.QualifyingUnits = unscaled(t, "-0.000000001") }),
		business(settle.ReasonNegativeRate, "tier_rate", "negative rate").
			inClaim(func(e *Envelope) { e.Payload.TierRate = unscaled(t, "-0.01") }),
		business(settle.ReasonUnsupportedCurrency, "currency", "currency with three minor digits").
			inClaim(func(e *Envelope) { e.Payload.Currency = "KWD" }),
		business(settle.ReasonOutOfRange, "qualifying_units", "units beyond numeric(38,9)").
			inClaim(func(e *Envelope) { e.Payload.QualifyingUnits = beyondRange(false) }),
		business(settle.ReasonOutOfRange, "claimed_amount", "claim beyond numeric(38,9)").
			inClaim(func(e *Envelope) { e.Payload.ClaimedAmount = beyondRange(true) }),
		business(settle.ReasonOutOfRange, "amount", "amount beyond numeric(18,2)").
			inClaim(func(e *Envelope) {
				e.Payload.QualifyingUnits = unscaled(t, "99999999999999999")
				e.Payload.TierRate = unscaled(t, "1000")
			}),
		business(settle.ReasonOutOfRange, "claimed_amount", "difference beyond numeric(38,9)").
			inClaim(func(e *Envelope) {
				e.Payload.ClaimedAmount = unscaled(t, "-99999999999999999999999999999.999999999")
			}),
	}
}

// spoil applies faults from the lowest to the uppermost, so that where two
// spoil the same field the upper one stays.
func spoil(a *arrival, faults ...fault) {
	for i := len(faults) - 1; i >= 0; i-- {
		if faults[i].claim != nil {
			faults[i].claim(a.envelope())
		}
	}
	a.seal()
	for i := len(faults) - 1; i >= 0; i-- {
		if faults[i].record != nil {
			faults[i].record(a)
		}
	}
}

func requireFault(t *testing.T, want fault, got *settle.Failure) {
	t.Helper()
	require.NotNil(t, got)
	require.Equal(t, want.reason, got.Reason)
	require.Equal(t, want.class, got.Class)
	require.Equal(t, want.field, got.Field)
}

func TestSettle_EachFaultHasItsReason(t *testing.T) {
	for _, f := range faultsInOrder(t) {
		t.Run(f.name, func(t *testing.T) {
			a := goodArrival(t)
			spoil(a, f)
			_, failure := a.settle()
			requireFault(t, f, failure)
		})
	}
}

func TestSettle_OfTwoFaultsTheEarlierInTheOrderIsTheReason(t *testing.T) {
	faults := faultsInOrder(t)
	for i, upper := range faults {
		for _, lower := range faults[i+1:] {
			t.Run(fmt.Sprintf("%s before %s", upper.name, lower.name), func(t *testing.T) {
				a := goodArrival(t)
				spoil(a, upper, lower)
				_, failure := a.settle()
				requireFault(t, upper, failure)
			})
		}
	}
}

func TestSettle_FiguresOutOfRangeStillHaveTheirSign(t *testing.T) {
	a := goodArrival(t)
	a.envelope().Payload.QualifyingUnits = beyondRange(true)
	_, failure := a.settle()
	require.Equal(t, settle.ReasonNegativeUnits, failure.Reason)
}
