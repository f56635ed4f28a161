package reconcile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/findings"
)

// A Finding is one difference between statement and ledger, and what explains
// it.
type Finding struct {
	Class              findings.Class
	TradeID            string
	NodeID             string // empty where nobody knows it, or there are several
	SettlementInterval string

	// Statement and Ledger are what each side has; invalid where it has none.
	Statement  money.NullDecimal
	Ledger     money.NullDecimal
	Difference money.Decimal // statement less ledger

	// Newest is the ledger's version that was compared; nil where there is none,
	// or where several nodes were added up.
	Newest *Version
	Nodes  int64 // that the ledger has, and were added up

	Lines     []int64 // the numbers of the statement's first lines of it
	LineCount int64

	// Roundings are those that give the statement's amount; for Rounding.
	Roundings []money.Rounding
	// Stale is the older version that has the statement's amount; for
	// StaleVersion.
	Stale *Version

	// Quantity and price as both sides have them; of the statement's, where it
	// has them.
	StatementMWh, LedgerMWh     money.NullDecimal
	StatementPrice, LedgerPrice money.NullDecimal
}

func newFinding(g *group) *Finding {
	f := &Finding{
		TradeID: g.trade, NodeID: nodeOf(g), SettlementInterval: g.interval,
		Statement:  money.NullDecimal{Decimal: g.billed, Valid: g.lines > 0},
		Ledger:     money.NullDecimal{Decimal: g.posted(), Valid: g.nodes > 0},
		Difference: g.billed.Sub(g.posted()),
		Nodes:      g.nodes, LineCount: g.lines,
		StatementMWh: g.mwh, StatementPrice: g.price,
	}
	f.Lines = append(f.Lines, g.lineNumbers...)
	if g.nodes == 1 {
		f.Newest = &Version{g.newest.Version, g.newest.Revision}
		f.LedgerMWh, f.LedgerPrice = g.newest.MWh, g.newest.Price
	}
	return f
}

// nodeOf is a group's node, where somebody knows it.
func nodeOf(g *group) string {
	if g.node == "" && g.nodes == 1 {
		return g.newest.NodeID
	}
	return g.node
}

// Envelope makes the record that opens a dispute of the finding. Who sends it
// gives it an id and its key.
func (f *Finding) Envelope(correlationID string) (*findings.Envelope, error) {
	e := &findings.Envelope{
		CorrelationID: correlationID, TradeID: f.TradeID, SettlementInterval: f.SettlementInterval,
		Class: string(f.Class), Currency: findings.Currency,
	}
	if f.NodeID != "" {
		e.NodeID = &f.NodeID
	}
	if f.Newest != nil {
		e.Version, e.Revision = &f.Newest.Number, &f.Newest.Revision
	}
	for _, amount := range [...]struct {
		from money.NullDecimal
		into *[]byte
	}{{f.Statement, &e.StatementAmount}, {f.Ledger, &e.LedgerAmount}} {
		if !amount.from.Valid {
			continue
		}
		unscaled, err := amount.from.Decimal.AppendUnscaled(nil, settle.DecimalScale)
		if err != nil {
			return nil, fmt.Errorf("trade %s: %w", f.TradeID, err)
		}
		*amount.into = unscaled
	}
	return e, nil
}

// CorrelationID names the finding by the run and the statement's line, where it
// has one: whoever sees an outcome finds it.
func (f *Finding) CorrelationID(runID string) string {
	if len(f.Lines) == 0 {
		return runID
	}
	return runID + ":" + strconv.FormatInt(f.Lines[0], 10)
}

// String says the finding in words.
func (f *Finding) String() string {
	var b strings.Builder
	b.WriteString(f.TradeID)
	if f.NodeID != "" {
		b.WriteString(" at " + f.NodeID)
	}
	fmt.Fprintf(&b, ", %s: %s", f.SettlementInterval, f.words())
	return b.String()
}
