package reconcile

import (
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
)

// A group is what both sides have of one trade and interval, and of one node
// where the statement has nodes. It's filled row by row and holds none of them
// but the last: the statement's lines come first, then the ledger's versions by
// node, the newest last.
type group struct {
	interval, trade, node string

	lines       int64
	lineNumbers []int64 // the numbers of the first ones
	billed      money.Decimal
	mwh         money.NullDecimal // as the statement has it, on its first line
	price       money.NullDecimal

	nodes  int64
	newest ledger.ComparedRow // of the last node
	others money.Decimal      // of the nodes before it
	stale  *Version           // the newest of the older ones that has the billed amount; counts where there is one node
}

// A Version names one version of a trade, and its revision.
type Version struct {
	Number   int64
	Revision int32
}

// maxLineNumbers is how many lines a finding names.
const maxLineNumbers = 5

// isOf tells whether a row belongs into the group.
func (g *group) isOf(row *ledger.ComparedRow, byNode bool) bool {
	return g.trade == row.TradeID && g.interval == row.SettlementInterval && (!byNode || g.node == row.NodeID)
}

// begin empties the group for the one that row is the first of.
func (g *group) begin(row *ledger.ComparedRow, byNode bool) {
	*g = group{interval: row.SettlementInterval, trade: row.TradeID, lineNumbers: g.lineNumbers[:0]}
	if byNode {
		g.node = row.NodeID
	}
}

func (g *group) add(row *ledger.ComparedRow) {
	if row.Line > 0 {
		g.addLine(row)
		return
	}
	g.addVersion(row)
}

func (g *group) addLine(row *ledger.ComparedRow) {
	if g.lines == 0 {
		g.mwh, g.price = row.MWh, row.Price
	}
	if g.lines++; g.lines <= maxLineNumbers {
		g.lineNumbers = append(g.lineNumbers, row.Line)
	}
	g.billed = g.billed.Add(row.Amount)
}

// addVersion takes a version that is newer than all of its node before it.
func (g *group) addVersion(row *ledger.ComparedRow) {
	switch {
	case g.nodes == 0 || g.newest.NodeID != row.NodeID:
		if g.nodes > 0 {
			g.others = g.others.Add(g.newest.Amount)
		}
		g.nodes++
	case g.newest.Amount.Equal(g.billed):
		g.stale = &Version{g.newest.Version, g.newest.Revision}
	}
	g.newest = *row
}

// posted is what the ledger holds, over all nodes.
func (g *group) posted() money.Decimal { return g.others.Add(g.newest.Amount) }
