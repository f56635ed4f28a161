package findings

import (
	"errors"
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
	return []fault{
		structural(settle.ReasonUndecodable, "", "doesn't decode").
			InRecord(func(a *arrival) { a.Undecodable = errors.New("three bytes are left over") }),
		structural(settle.ReasonUndecodable, "statement_amount", "statement amount without bytes").
			InEnvelope(func(e *Envelope) { e.StatementAmount = []byte{} }),
		structural(settle.ReasonInvalidText, "trade_id", "trade with NUL").
			InEnvelope(func(e *Envelope) { e.TradeID = "T\x00" }),
		structural(settle.ReasonInvalidText, "node_id", "node that isn't UTF-8").
			InEnvelope(func(e *Envelope) { e.NodeID = new("N\xff") }),
		structural(settle.ReasonFieldTooLong, "correlation_id", "correlation too long").
			InEnvelope(func(e *Envelope) { e.CorrelationID = long }),
		structural(settle.ReasonInvalidMessageID, "message_id", "message id that isn't one").
			InEnvelope(func(e *Envelope) { e.MessageID = "01JDVQ0000000000000000000U" }),
		structural(settle.ReasonMissingField, "settlement_interval", "no interval").
			InEnvelope(func(e *Envelope) { e.SettlementInterval = "" }),
		structural(settle.ReasonMissingField, "currency", "no currency").
			InEnvelope(func(e *Envelope) { e.Currency = "" }),
		structural(settle.ReasonInvalidVersion, "revision", "version without revision").
			InEnvelope(func(e *Envelope) { e.Revision = nil }),
		structural(settle.ReasonInvalidVersion, "version", "version below 0").
			InEnvelope(func(e *Envelope) { e.Version = new(int64(-1)) }),
		structural(settle.ReasonInvalidVersion, "revision", "revision below 0").
			InEnvelope(func(e *Envelope) { e.Revision = new(int32(-1)) }),
		structural(settle.ReasonInvalidInterval, "settlement_interval", "interval with an offset").
			InEnvelope(func(e *Envelope) { e.SettlementInterval = "2019-11-03T01:00:00-04:00" }),
		structural(settle.ReasonInvalidFinding, "statement_amount", "missing in the statement, with its amount").
			InEnvelope(func(e *Envelope) { e.Class = string(MissingInStatement) }),
		structural(settle.ReasonInvalidFinding, "ledger_amount", "missing in the ledger, with its amount").
			InEnvelope(func(e *Envelope) { e.Class = string(MissingInLedger) }),
		business(settle.ReasonOutOfRange, "statement_amount", "statement amount beyond numeric(38,9)").
			InEnvelope(func(e *Envelope) { e.StatementAmount = settletest.BeyondRange(false) }),
		business(settle.ReasonOutOfRange, "ledger_amount", "ledger amount beyond numeric(38,9)").
			InEnvelope(func(e *Envelope) { e.LedgerAmount = settletest.BeyondRange(true) }),
		structural(settle.ReasonKeyMismatch, "reconciliation_key", "another identity's key").
			InRecord(func(a *arrival) {
				a.Envelope.ReconciliationKey = strings.Repeat("0", 64)
				a.Record.Key = []byte(a.Envelope.ReconciliationKey)
			}),
		structural(settle.ReasonKeyMismatch, "reconciliation_key", "record without key").
			InRecord(func(a *arrival) { a.Record.Key = nil }),
		structural(settle.ReasonUnknownRecalculation, settle.HeaderRunKind, "recalculation").
			WithHeader(settle.HeaderRunKind, "recalculation"),
		business(settle.ReasonUnsupportedCurrency, "currency", "another currency").
			InEnvelope(func(e *Envelope) { e.Currency = "CAD" }),
		business(settle.ReasonOutOfRange, "amount", "ledger amount beyond numeric(18,2)").
			InEnvelope(func(e *Envelope) { e.LedgerAmount = unscaled(t, "-10000000000000000") }),
		business(settle.ReasonOutOfRange, "ledger_amount", "ledger amount that is finer than a cent").
			InEnvelope(func(e *Envelope) { e.LedgerAmount = unscaled(t, "265.035") }),
	}
}

func TestSettle_FindsFaultsInTheirOrder(t *testing.T) {
	settletest.CheckOrder(t, func() *arrival { return goodArrival(t) }, faultsInOrder(t))
}

func TestCheckForm_RefusesWhatContradictsItself(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Envelope)
		want   string
	}{
		"no amount of the statement's": {func(e *Envelope) { e.StatementAmount = nil }, `missing_field: statement_amount "": a finding rounding has it`},
		"no amount of the ledger's": {func(e *Envelope) { e.LedgerAmount, e.Version, e.Revision = nil, nil, nil },
			`missing_field: ledger_amount "": a finding rounding has it`},
		"a version of nothing": {func(e *Envelope) { e.Class, e.LedgerAmount = string(MissingInLedger), nil },
			`invalid_version: version "1": the ledger has no such trade, and so no version of it`},
		"an empty node": {func(e *Envelope) { e.NodeID = new("") }, `missing_field: node_id ""`},
	} {
		_, failure := goodArrival(t, c.change).Settle()
		if failure == nil || failure.Message() != c.want {
			t.Errorf("%s: %v, want %s", name, failure, c.want)
		}
	}
}
