package producer

import (
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/trades"
)

// A Trade is one version of an energy trade as text, as files have it.
type Trade struct {
	TradeID            string
	Version            string // from 0; empty: last_modified gives it
	NodeID             string
	SettlementInterval string // its start in RFC 3339, with a zone and without a fraction of a second
	MWh                string // decimal in plain notation, up to 9 fraction digits
	Price              string // the same, a MWh
	Currency           string
	LastModified       string // RFC 3339, with a zone; may be empty where there is a version
	MarketRun          string // may be empty
	MeterID            string // may be empty

	// CorrelationID follows the trade to its outcome (default: the message's own
	// id).
	CorrelationID string
}

// tradeOf takes the values of a trade's columns, in their order.
func tradeOf(values []string) Trade {
	return Trade{
		TradeID:            values[0],
		Version:            values[1],
		NodeID:             values[2],
		SettlementInterval: values[3],
		MWh:                values[4],
		Price:              values[5],
		Currency:           values[6],
		LastModified:       values[7],
		MarketRun:          values[8],
		MeterID:            values[9],
	}
}

// tradeColumns are in the order in which tradeOf takes them. A file has the
// column version even where its source has no versions: were it misspelt, other
// versions would be made up without a word.
func tradeColumns() Columns {
	return Columns{
		Required: []string{"trade_id", "version", "node_id", "settlement_interval", "mwh", "price", "currency"},
		Optional: []string{"last_modified", "market_run", "meter_id"},
		Reserved: reservedColumns(),
	}
}

// fill puts the trade into an envelope, and refuses what isn't a number or a
// date: version, volume, price and interval in this order.
func (t *Trade) fill(e *trades.Envelope) *settle.Failure {
	e.CorrelationID = t.CorrelationID
	e.TradeID, e.NodeID, e.Currency = t.TradeID, t.NodeID, t.Currency
	e.MarketRun, e.MeterID = orNull(t.MarketRun), orNull(t.MeterID)
	if failure := t.fillVersion(e); failure != nil {
		return failure
	}
	failure := fillDecimals(decimalField{name: "mwh", text: t.MWh, into: &e.MWh}, decimalField{name: "price", text: t.Price, into: &e.Price})
	if failure != nil {
		return failure
	}
	e.SettlementInterval, failure = ParseInterval("settlement_interval", t.SettlementInterval)
	return failure
}

// fillVersion reads the version, which last_modified gives where the source
// numbers none.
func (t *Trade) fillVersion(e *trades.Envelope) (failure *settle.Failure) {
	if t.LastModified != "" {
		modified, failure := parseDate("last_modified", t.LastModified)
		if failure != nil {
			return failure
		}
		e.LastModified = &modified
	}
	switch {
	case t.Version != "":
		e.Version, failure = trades.ParseVersion(t.Version)
	case e.LastModified != nil:
		e.Version, failure = trades.ModifiedVersion(*e.LastModified)
	default:
		failure = settle.Structural(settle.ReasonMissingVersion, "version", "").WithDetail("last_modified doesn't give it either")
	}
	return failure
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
