package findings

import (
	"strconv"

	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/trades"
)

// CheckForm makes the checks of form that need nothing but the envelope, in
// their order, and returns the key of its identity: all that it says.
func (e *Envelope) CheckForm() (reconkey.Key, *settle.Failure) {
	if failure := e.checkTexts(); failure != nil {
		return reconkey.Key{}, failure
	}
	if failure := e.checkVersion(); failure != nil {
		return reconkey.Key{}, failure
	}
	if !trades.IsInterval(e.SettlementInterval) {
		return reconkey.Key{}, settle.Structural(settle.ReasonInvalidInterval, "settlement_interval", e.SettlementInterval).
			WithDetail("want its start in UTC, written as 2019-06-19T04:00:00Z")
	}
	for _, side := range [...]struct {
		field    string
		unscaled []byte
		expected presence
	}{
		{"statement_amount", e.StatementAmount, Class(e.Class).hasStatement()},
		{"ledger_amount", e.LedgerAmount, Class(e.Class).hasLedger()},
	} {
		if there := side.unscaled != nil; !side.expected.allows(there) {
			return reconkey.Key{}, inconsistent(side.field, e.Class, there)
		}
	}
	return e.key()
}

func (e *Envelope) checkTexts() *settle.Failure {
	// The first two have checks of their own for being empty.
	texts := []settle.Field{
		{Name: "message_id", Text: e.MessageID},
		{Name: "reconciliation_key", Text: e.ReconciliationKey},
		{Name: "correlation_id", Text: e.CorrelationID},
		{Name: "trade_id", Text: e.TradeID},
		{Name: "settlement_interval", Text: e.SettlementInterval},
		{Name: "currency", Text: e.Currency},
	}
	if e.NodeID != nil {
		texts = append(texts, settle.Field{Name: "node_id", Text: *e.NodeID})
	}
	if failure := settle.CheckTexts(texts); failure != nil {
		return failure
	}
	if failure := settle.CheckMessageID(e.MessageID); failure != nil {
		return failure
	}
	return settle.CheckPresent(texts[2:])
}

// checkVersion takes a version and its revision, or neither.
func (e *Envelope) checkVersion() *settle.Failure {
	switch {
	case (e.Version == nil) != (e.Revision == nil):
		return settle.Structural(settle.ReasonInvalidVersion, "revision", "").WithDetail("version and revision stand together or not at all")
	case e.Version == nil:
		return nil
	case *e.Version < 0:
		return settle.Structural(settle.ReasonInvalidVersion, "version", strconv.FormatInt(*e.Version, 10)).WithDetail("want a number from 0")
	case *e.Revision < 0:
		return settle.Structural(settle.ReasonInvalidVersion, "revision", strconv.Itoa(int(*e.Revision))).WithDetail("want a number from 0")
	case e.LedgerAmount == nil:
		return settle.Structural(settle.ReasonInvalidVersion, "version", strconv.FormatInt(*e.Version, 10)).
			WithDetail("the ledger has no such trade, and so no version of it")
	}
	return nil
}

// inconsistent is the failure of a finding that contradicts its own class.
func inconsistent(field, class string, there bool) *settle.Failure {
	if !there {
		return settle.Structural(settle.ReasonMissingField, field, "").WithDetail("a finding %s has it", class)
	}
	return settle.Structural(settle.ReasonInvalidFinding, field, "").WithDetail("a finding %s has none", class)
}

// key computes the key of what the finding says.
func (e *Envelope) key() (reconkey.Key, *settle.Failure) {
	statement, failure := amountMember("statement_amount", e.StatementAmount)
	if failure != nil {
		return reconkey.Key{}, failure
	}
	ledger, failure := amountMember("ledger_amount", e.LedgerAmount)
	if failure != nil {
		return reconkey.Key{}, failure
	}
	version, revision := reconkey.Null("version"), reconkey.Null("revision")
	if e.Version != nil {
		version, revision = reconkey.Integer("version", *e.Version), reconkey.Integer("revision", int64(*e.Revision))
	}
	node := reconkey.Null("node_id")
	if e.NodeID != nil {
		node = reconkey.Text("node_id", *e.NodeID)
	}
	identity := reconkey.Identity{ // in the order of their names
		reconkey.Text("class", e.Class), ledger, node, revision,
		reconkey.Text("settlement_interval", e.SettlementInterval), statement,
		reconkey.Text("trade_id", e.TradeID), version,
	}
	return identity.Key(), nil
}

// amountMember makes an amount's part of the identity: text in which equal
// amounts are equal.
func amountMember(name string, unscaled []byte) (reconkey.Member, *settle.Failure) {
	if unscaled == nil {
		return reconkey.Null(name), nil
	}
	amount, failure := settle.DecodeDecimal(name, unscaled, settle.DecimalScale)
	return reconkey.Text(name, amount.AmountString()), failure
}
