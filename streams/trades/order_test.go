package trades

import (
	"math"
	"slices"
	"strings"
	"testing"

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
		structural(settle.ReasonUndecodable, "mwh", "volume without bytes").
			InEnvelope(func(e *Envelope) { e.MWh = []byte{} }),
		structural(settle.ReasonUndecodable, "price", "price that is null").
			InEnvelope(func(e *Envelope) { e.Price = nil }),
		structural(settle.ReasonInvalidText, "trade_id", "trade with NUL").
			InEnvelope(func(e *Envelope) { e.TradeID = "T\x00" }),
		structural(settle.ReasonInvalidText, "market_run", "market run that isn't UTF-8").
			InEnvelope(func(e *Envelope) { e.MarketRun = new("DAM\xff") }),
		structural(settle.ReasonFieldTooLong, "node_id", "node too long").
			InEnvelope(func(e *Envelope) { e.NodeID = long }),
		structural(settle.ReasonFieldTooLong, "meter_id", "meter too long").
			InEnvelope(func(e *Envelope) { e.MeterID = &long }),
		structural(settle.ReasonInvalidMessageID, "message_id", "message id that isn't one").
			InEnvelope(func(e *Envelope) { e.MessageID = "01JDVQ0000000000000000000U" }),
		structural(settle.ReasonMissingField, "correlation_id", "no correlation").
			InEnvelope(func(e *Envelope) { e.CorrelationID = "" }),
		structural(settle.ReasonMissingField, "trade_id", "no trade").
			InEnvelope(func(e *Envelope) { e.TradeID = "" }),
		structural(settle.ReasonMissingField, "node_id", "no node").
			InEnvelope(func(e *Envelope) { e.NodeID = "" }),
		structural(settle.ReasonMissingField, "settlement_interval", "no interval").
			InEnvelope(func(e *Envelope) { e.SettlementInterval = "" }),
		structural(settle.ReasonMissingField, "currency", "no currency").
			InEnvelope(func(e *Envelope) { e.Currency = "" }),
		structural(settle.ReasonInvalidVersion, "version", "version below 0").
			InEnvelope(func(e *Envelope) { e.Version = -1 }),
		structural(settle.ReasonInvalidInterval, "settlement_interval", "interval with an offset").
			InEnvelope(func(e *Envelope) { e.SettlementInterval = "2019-11-03T01:00:00-04:00" }),
		structural(settle.ReasonInvalidDate, "last_modified", "date that no calendar shows").
			InEnvelope(func(e *Envelope) { e.LastModified = new(int64(math.MaxInt64)) }),
	}
	content := []fault{
		business(settle.ReasonUnsupportedCurrency, "currency", "another currency").
			InEnvelope(func(e *Envelope) { e.Currency = "CAD" }),
		business(settle.ReasonOutOfRange, "mwh", "volume beyond numeric(38,9)").
			InEnvelope(func(e *Envelope) { e.MWh = settletest.BeyondRange(true) }),
		business(settle.ReasonOutOfRange, "price", "price beyond numeric(38,9)").
			InEnvelope(func(e *Envelope) { e.Price = settletest.BeyondRange(false) }),
		business(settle.ReasonOutOfRange, "amount", "product that 28 digits don't hold").
			InEnvelope(func(e *Envelope) {
				e.MWh = settletest.Unscaled(t, "100005000000.999999999")
				e.Price = settletest.Unscaled(t, "1000000.000000001")
			}),
		business(settle.ReasonOutOfRange, "amount", "amount beyond numeric(18,2)").
			InEnvelope(func(e *Envelope) {
				e.MWh = settletest.Unscaled(t, "-99999999999999999")
				e.Price = settletest.Unscaled(t, "1000")
			}),
	}
	return slices.Concat(settletest.DecodingFaults[Envelope](), form, settletest.KeyFaults[Envelope](), content)
}

func TestSettle_FindsFaultsInTheirOrder(t *testing.T) {
	settletest.CheckOrder(t, func() *arrival { return goodArrival(t) }, faultsInOrder(t))
}
