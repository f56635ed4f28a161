package reconcile

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/streams/findings"
)

// A judge says what explains a group's difference, if there is one.
type judge struct{ tolerance money.Decimal }

// ledgerRounding is that of the stream trades; it explains no difference.
const ledgerRounding = money.HalfEven

// cent is the most that another rounding can make of a difference.
const cent = "0.01"

// find returns the group's finding, or nil where both sides tie.
func (j judge) find(g *group) *Finding {
	f := newFinding(g)
	switch {
	case g.lines > 1:
		f.Class = findings.DuplicateInStatement
	case g.nodes == 0:
		f.Class = findings.MissingInLedger
	case g.lines == 0:
		f.Class = findings.MissingInStatement
	case g.sameFigures() && magnitude(f.Difference).Sub(j.tolerance).Sign() <= 0:
		return nil
	default:
		f.Class = findings.Amount
		if g.nodes == 1 {
			f.explain(g)
		}
	}
	return f
}

// explain finds the class of a difference between one line and one version. It
// stays Amount where nothing explains it.
func (f *Finding) explain(g *group) {
	if g.sameFigures() {
		f.Roundings = otherRoundings(g)
	}
	switch {
	case len(f.Roundings) > 0:
		f.Class = findings.Rounding
	case g.stale != nil:
		f.Class, f.Stale = findings.StaleVersion, g.stale
	case !agrees(g.mwh, g.newest.MWh):
		f.Class = findings.Quantity
	case !agrees(g.price, g.newest.Price):
		f.Class = findings.Price
	}
}

// sameFigures tells whether quantity and price are the ledger's, where the
// statement has them and the ledger one of each.
func (g *group) sameFigures() bool {
	return g.nodes != 1 || agrees(g.mwh, g.newest.MWh) && agrees(g.price, g.newest.Price)
}

// agrees tells whether a figure of the statement's is the ledger's; one that
// isn't stated contradicts nothing.
func agrees(stated, posted money.NullDecimal) bool {
	return !stated.Valid || stated.Decimal.Equal(posted.Decimal)
}

// otherRoundings are those by which the ledger's own quantity and price give the
// statement's amount, the usual ones first. No rounding is more than a cent away
// from another, which is asked first since it spares most differences the rest.
func otherRoundings(g *group) (roundings []money.Rounding) {
	if magnitude(g.billed.Sub(g.newest.Amount)).Sub(money.MustParse(cent)).Sign() > 0 {
		return nil
	}
	for _, rounding := range money.Roundings() {
		if rounding == ledgerRounding {
			continue
		}
		amount, err := money.Amount(g.newest.MWh.Decimal, g.newest.Price.Decimal, rounding)
		if err == nil && amount.Equal(g.billed) {
			roundings = append(roundings, rounding)
		}
	}
	return roundings
}
