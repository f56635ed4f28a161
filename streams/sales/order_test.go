package sales

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/settle/settletest"
)

type fault = settletest.Fault[Envelope]

// faultsInOrder are all faults that Settle finds, in the order in which it
// finds them: of two, the upper one is the reason.
func faultsInOrder(t *testing.T) []fault {
	t.Helper()
	long := strings.Repeat("x", settle.MaxTextBytes+1)
	structural, business := settletest.Structural[Envelope], settletest.Business[Envelope]
	form := []fault{
		structural(settle.ReasonUndecodable, "qualifying_units", "units without bytes").
			InEnvelope(func(e *Envelope) { e.Payload.QualifyingUnits = []byte{} }),
		structural(settle.ReasonUndecodable, "tier_rate", "rate that is null").
			InEnvelope(func(e *Envelope) { e.Payload.TierRate = nil }),
		structural(settle.ReasonUndecodable, "claimed_amount", "claim without bytes").
			InEnvelope(func(e *Envelope) { e.Payload.ClaimedAmount = []byte{} }),
		structural(settle.ReasonInvalidText, "vendor_id", "vendor with NUL").
			InEnvelope(func(e *Envelope) { e.VendorID = "V\x00" }),
		structural(settle.ReasonInvalidText, "store_id", "store that isn't UTF-8").
			InEnvelope(func(e *Envelope) { e.Payload.StoreID = "STORE-\xff" }),
		structural(settle.ReasonInvalidText, "currency", "currency that is half a surrogate pair").
			InEnvelope(func(e *Envelope) { e.Payload.Currency = "\xed\xa0\x80" }),
		structural(settle.ReasonFieldTooLong, "correlation_id", "correlation too long").
			InEnvelope(func(e *Envelope) { e.CorrelationID = long }),
		structural(settle.ReasonFieldTooLong, "retailer_invoice", "invoice too long").
			InEnvelope(func(e *Envelope) { e.Payload.RetailerInvoice = long }),
		structural(settle.ReasonInvalidMessageID, "message_id", "message id that isn't one").
			InEnvelope(func(e *Envelope) { e.MessageID = "01JDVQ0000000000000000000U" }),
		structural(settle.ReasonMissingField, "vendor_id", "no vendor").
			InEnvelope(func(e *Envelope) { e.VendorID = "" }),
		structural(settle.ReasonMissingField, "correlation_id", "no correlation").
			InEnvelope(func(e *Envelope) { e.CorrelationID = "" }),
		structural(settle.ReasonMissingField, "retailer_invoice", "no invoice").
			InEnvelope(func(e *Envelope) { e.Payload.RetailerInvoice = "" }),
		structural(settle.ReasonInvalidAgreementVersion, "agreement_version", "version 0").
			InEnvelope(func(e *Envelope) { e.AgreementVersion = 0 }),
		structural(settle.ReasonInvalidClaimPeriod, "claim_period", "period 14").
			InEnvelope(func(e *Envelope) { e.ClaimPeriod = "2010-P14" }),
		structural(settle.ReasonInvalidDate, "transaction_date", "date that no calendar shows").
			InEnvelope(func(e *Envelope) { e.Payload.TransactionDate = math.MaxInt64 }),
		structural(settle.ReasonSeparatorInKeyPart, "retailer_invoice", "separator in the invoice").
			InEnvelope(func(e *Envelope) { e.Payload.RetailerInvoice = "A|B" }),
		structural(settle.ReasonSeparatorInKeyPart, "promo_tier", "separator in the tier").
			InEnvelope(func(e *Envelope) { e.Payload.PromoTier = "GOLD|X" }),
	}
	content := []fault{
		business(settle.ReasonInvalidPromoCode, "promo_tier", "unknown tier").
			InEnvelope(func(e *Envelope) { e.Payload.PromoTier = "gold" }),
		business(settle.ReasonNegativeUnits, "qualifying_units", "negative units").
			InEnvelope(func(e *Envelope) { e.Payload.QualifyingUnits = settletest.Unscaled(t, "-0.000000001") }),
		business(settle.ReasonNegativeRate, "tier_rate", "negative rate").
			InEnvelope(func(e *Envelope) { e.Payload.TierRate = settletest.Unscaled(t, "-0.01") }),
		business(settle.ReasonUnsupportedCurrency, "currency", "currency with three minor digits").
			InEnvelope(func(e *Envelope) { e.Payload.Currency = "KWD" }),
		business(settle.ReasonOutOfRange, "qualifying_units", "units beyond numeric(38,9)").
			InEnvelope(func(e *Envelope) { e.Payload.QualifyingUnits = settletest.BeyondRange(false) }),
		business(settle.ReasonOutOfRange, "claimed_amount", "claim beyond numeric(38,9)").
			InEnvelope(func(e *Envelope) { e.Payload.ClaimedAmount = settletest.BeyondRange(true) }),
		business(settle.ReasonOutOfRange, "amount", "amount beyond numeric(18,2)").
			InEnvelope(func(e *Envelope) {
				e.Payload.QualifyingUnits = settletest.Unscaled(t, "99999999999999999")
				e.Payload.TierRate = settletest.Unscaled(t, "1000")
			}),
		business(settle.ReasonOutOfRange, "claimed_amount", "difference beyond numeric(38,9)").
			InEnvelope(func(e *Envelope) {
				e.Payload.ClaimedAmount = settletest.Unscaled(t, "-99999999999999999999999999999.999999999")
			}),
	}
	return slices.Concat(settletest.DecodingFaults[Envelope](), form, settletest.KeyFaults[Envelope](), content)
}

func TestSettle_FindsFaultsInTheirOrder(t *testing.T) {
	settletest.CheckOrder(t, func() *arrival { return goodArrival(t) }, faultsInOrder(t))
}

func TestSettle_FiguresOutOfRangeStillHaveTheirSign(t *testing.T) {
	a := goodArrival(t)
	a.Envelope.Payload.QualifyingUnits = settletest.BeyondRange(true)
	_, failure := a.Settle()
	require.Equal(t, settle.ReasonNegativeUnits, failure.Reason)
}
