package reconcile

import (
	"slices"

	"github.com/tieout/tieout/pkg/ledger"
)

// A Scope is the part of statement and ledger that is compared: of the same
// intervals and nodes on both sides.
type Scope struct {
	// From and To bound the starts of settlement intervals, as the ledger writes
	// them: From is within, To is not. Empty: no bound.
	From, To string
	// Nodes are those that count (default: all).
	Nodes []string
}

func (s *Scope) holds(line *ledger.BilledLine) bool {
	switch {
	case s.From != "" && line.SettlementInterval < s.From:
		return false
	case s.To != "" && line.SettlementInterval >= s.To:
		return false
	}
	return len(s.Nodes) == 0 || slices.Contains(s.Nodes, line.NodeID)
}

// A period is the span of a statement's intervals, each by its start.
type period struct{ first, last string }

func (p *period) add(interval string) {
	if p.first == "" || interval < p.first {
		p.first = interval
	}
	p.last = max(p.last, interval)
}

func (p *period) holds(interval string) bool {
	return p.first <= interval && interval <= p.last
}
