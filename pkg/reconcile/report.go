package reconcile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/streams/findings"
)

// Equal is the class of what ties, in totals.
const Equal findings.Class = "equal"

// A Report says what came of a comparison. A trade counts once for each
// interval (and node, where the statement has nodes).
type Report struct {
	Lines         int64    // of the statement, without its header
	OutsideScope  int64    // of these, lines that weren't compared
	UnusedColumns []string // that the statement has, and nobody asked for

	All     Total
	ByClass []ClassTotal // Equal first, then the findings' classes; those that there are
	ByNode  []NodeTotal  // in the order of their names

	Findings int64
	Largest  []*Finding // of the findings, by their differences

	// First and Last are the statement's first and last interval of those that
	// were compared; empty where it has none.
	First, Last string
	// MissingBeyond are findings of trades that the ledger has before First or
	// after Last: a scope may have been forgotten.
	MissingBeyond int64

	classes map[findings.Class]*Total
	nodes   map[string]*NodeTotal
}

// A Total adds up trades.
type Total struct {
	Trades     int64
	Statement  money.Decimal
	Ledger     money.Decimal
	Difference money.Decimal // statement less ledger
}

// A ClassTotal adds up the trades of one class.
type ClassTotal struct {
	Class findings.Class
	Total
}

// A NodeTotal adds up the trades of one node.
type NodeTotal struct {
	// Node is empty where the statement has no nodes and the ledger doesn't tell.
	// OtherNodes stands for those beyond the bound.
	Node string
	Total
	Findings int64
}

const (
	// MaxLargest is how many findings a report shows.
	MaxLargest = 10
	// maxNodes bounds the nodes that are added up one by one: operators have some
	// tens of thousands, and whatever a file holds must fit into memory.
	maxNodes = 100_000
	// OtherNodes is the name under which the rest is added up.
	OtherNodes = "(other nodes)"
)

func newReport() *Report {
	return &Report{classes: map[findings.Class]*Total{}, nodes: map[string]*NodeTotal{}}
}

// add adds a group and its finding, if there is one.
func (r *Report) add(g *group, finding *Finding) {
	class := Equal
	if finding != nil {
		class = finding.Class
		r.Findings++
		r.addLargest(finding)
	}
	if r.classes[class] == nil {
		r.classes[class] = &Total{}
	}
	node := r.node(nodeOf(g))
	for _, total := range [...]*Total{&r.All, r.classes[class], &node.Total} {
		total.add(g)
	}
	if finding != nil {
		node.Findings++
	}
}

func (r *Report) node(name string) *NodeTotal {
	total := r.nodes[name]
	if total == nil && len(r.nodes) >= maxNodes {
		name = OtherNodes
		total = r.nodes[name]
	}
	if total == nil {
		total = &NodeTotal{Node: name}
		r.nodes[name] = total
	}
	return total
}

func (t *Total) add(g *group) {
	posted := g.posted()
	t.Trades++
	t.Statement = t.Statement.Add(g.billed)
	t.Ledger = t.Ledger.Add(posted)
	t.Difference = t.Difference.Add(g.billed.Sub(posted))
}

// addLargest keeps the findings with the largest differences, of equal ones the
// first.
func (r *Report) addLargest(f *Finding) {
	at, _ := slices.BinarySearchFunc(r.Largest, f, func(kept, f *Finding) int {
		return cmp.Or(magnitude(f.Difference).Sub(magnitude(kept.Difference)).Sign(), -1)
	})
	if at == MaxLargest {
		return
	}
	r.Largest = slices.Insert(r.Largest, at, f)
	r.Largest = r.Largest[:min(len(r.Largest), MaxLargest)]
}

// finish puts the totals in order.
func (r *Report) finish() {
	for _, class := range slices.Concat([]findings.Class{Equal}, findings.Classes()) {
		if total := r.classes[class]; total != nil {
			r.ByClass = append(r.ByClass, ClassTotal{class, *total})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(r.nodes)) {
		r.ByNode = append(r.ByNode, *r.nodes[node])
	}
}
