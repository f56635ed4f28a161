package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/tieout/tieout/pkg/reconcile"
	"github.com/tieout/tieout/streams/findings"
)

// A comparisonReport is what reconcile shows of a comparison, the findings one
// by one aside.
type comparisonReport struct {
	Statement     string   `json:"statement"`
	Lines         int64    `json:"lines"`
	OutsideScope  int64    `json:"outside_scope"`
	UnusedColumns []string `json:"unused_columns,omitempty"`

	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	Nodes     []string `json:"nodes,omitempty"`
	Tolerance string   `json:"tolerance"`

	Ties          bool         `json:"ties"`
	FindingCount  int64        `json:"finding_count"`
	ByClass       []shownTotal `json:"by_class"`
	ByNode        []shownTotal `json:"by_node"`
	All           shownTotal   `json:"all"`
	Largest       []string     `json:"largest"` // in words
	MissingBeyond int64        `json:"missing_beyond_statement"`
	First         string       `json:"first_interval,omitempty"`
	Last          string       `json:"last_interval,omitempty"`

	Disputes *openedDisputes `json:"disputes,omitempty"`
}

// A shownTotal is a total of trades under a name.
type shownTotal struct {
	Class      findings.Class `json:"class,omitempty"`
	Node       *string        `json:"node,omitempty"`
	Trades     int64          `json:"trades"`
	Findings   *int64         `json:"findings,omitempty"`
	Statement  string         `json:"statement"`
	Ledger     string         `json:"ledger"`
	Difference string         `json:"difference"`
}

// openedDisputes say what was enqueued.
type openedDisputes struct {
	RunID    string `json:"run_id"`
	Delivery string `json:"delivery"`
	Enqueued int64  `json:"enqueued"`
}

func newComparisonReport(path string, options *reconcile.Options, report *reconcile.Report, disputes *disputeOpening) *comparisonReport {
	r := &comparisonReport{
		Statement: path, Lines: report.Lines, OutsideScope: report.OutsideScope, UnusedColumns: report.UnusedColumns,
		From: options.Scope.From, To: options.Scope.To, Nodes: options.Scope.Nodes, Tolerance: options.Tolerance.AmountString(),
		Ties: report.Findings == 0, FindingCount: report.Findings, All: newShownTotal(report.All),
		ByClass: make([]shownTotal, 0, len(report.ByClass)), ByNode: make([]shownTotal, 0, len(report.ByNode)),
		Largest: make([]string, 0, len(report.Largest)), MissingBeyond: report.MissingBeyond, First: report.First, Last: report.Last,
	}
	for _, total := range report.ByClass {
		shown := newShownTotal(total.Total)
		shown.Class = total.Class
		r.ByClass = append(r.ByClass, shown)
	}
	for _, total := range report.ByNode {
		shown := newShownTotal(total.Total)
		shown.Node, shown.Findings = &total.Node, &total.Findings
		r.ByNode = append(r.ByNode, shown)
	}
	for _, f := range report.Largest {
		r.Largest = append(r.Largest, f.String())
	}
	if disputes != nil {
		r.Disputes = &openedDisputes{disputes.runID, disputes.delivery, disputes.enqueued()}
	}
	return r
}

func newShownTotal(total reconcile.Total) shownTotal {
	return shownTotal{
		Trades: total.Trades, Statement: total.Statement.AmountString(), Ledger: total.Ledger.AmountString(),
		Difference: total.Difference.AmountString(),
	}
}

// write says it in words.
func (r *comparisonReport) write(w io.Writer) error {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-11s%s\n", name, text) }
	line("statement", r.Statement)
	line("lines", grouped(r.Lines))
	if scope := r.scope(); scope != "" {
		line("scope", scope)
		line("outside", counted(r.OutsideScope, "line"))
	}
	line("tolerance", r.Tolerance)
	if len(r.UnusedColumns) > 0 {
		line("not used", strings.Join(r.UnusedColumns, ", "))
	}
	b.WriteByte('\n')
	r.writeClasses(&b)
	b.WriteByte('\n')
	r.writeNodes(&b)
	r.writeLargest(&b)
	r.writeRest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *comparisonReport) scope() string {
	var parts []string
	if r.From != "" {
		parts = append(parts, "from "+r.From)
	}
	if r.To != "" {
		parts = append(parts, "before "+r.To)
	}
	if len(r.Nodes) > 0 {
		parts = append(parts, strings.Join(r.Nodes, ", "))
	}
	return strings.Join(parts, ", ")
}

func (r *comparisonReport) writeClasses(w io.Writer) {
	t := newTable(w, "CLASS", "TRADES", "STATEMENT", "LEDGER", "DIFFERENCE")
	alignRight(t, 2, 3, 4, 5)
	row := func(name string, total *shownTotal) {
		t.AppendRow(table.Row{name, grouped(total.Trades), groupedAmount(total.Statement), groupedAmount(total.Ledger), groupedAmount(total.Difference)})
	}
	for i := range r.ByClass {
		row(string(r.ByClass[i].Class), &r.ByClass[i])
	}
	row("all", &r.All)
	t.Render()
}

// maxShownNodes is how many nodes fit a screen.
const maxShownNodes = 40

// writeNodes shows the nodes, where there are too many those with the most
// findings.
func (r *comparisonReport) writeNodes(w io.Writer) {
	shown := slices.Clone(r.ByNode)
	if len(shown) > maxShownNodes {
		slices.SortStableFunc(shown, func(a, b shownTotal) int { return int(min(max(*b.Findings-*a.Findings, -1), 1)) })
		shown = shown[:maxShownNodes]
	}
	t := newTable(w, "NODE", "TRADES", "FINDINGS", "STATEMENT", "LEDGER", "DIFFERENCE")
	alignRight(t, 2, 3, 4, 5, 6)
	for i := range shown {
		total := &shown[i]
		name := *total.Node
		if name == "" {
			name = "-"
		}
		t.AppendRow(table.Row{
			name, grouped(total.Trades), grouped(*total.Findings),
			groupedAmount(total.Statement), groupedAmount(total.Ledger), groupedAmount(total.Difference),
		})
	}
	t.Render()
	if more := len(r.ByNode) - len(shown); more > 0 {
		fmt.Fprintf(w, "and %s with fewer findings: --format json has them all\n", counted(int64(more), "node"))
	}
}

func (r *comparisonReport) writeLargest(w io.Writer) {
	if len(r.Largest) == 0 {
		return
	}
	title := "\nThe findings:\n"
	if more := r.FindingCount - int64(len(r.Largest)); more > 0 {
		title = fmt.Sprintf("\nThe %d largest of %s (--format csv has them all):\n", len(r.Largest), counted(r.FindingCount, "finding"))
	}
	fmt.Fprint(w, title)
	for _, words := range r.Largest {
		fmt.Fprintf(w, "  %s\n", words)
	}
}

func (r *comparisonReport) writeRest(w io.Writer) {
	if r.MissingBeyond > 0 && r.First != "" {
		fmt.Fprintf(w, "\n%s: of trades before the statement's first interval, %s, or after its last, %s. --from and --to bound what is compared.\n",
			counted(r.MissingBeyond, "finding"), r.First, r.Last)
	}
	if r.Ties {
		fmt.Fprintf(w, "\nAll ties: %s, %s on both sides.\n", counted(r.All.Trades, "trade"), groupedAmount(r.All.Ledger))
	}
	if d := r.Disputes; d != nil && d.Enqueued > 0 {
		fmt.Fprintf(w, "\n%s enqueued as run %s, delivery %s: `tieout run findings` settles them.\n", counted(d.Enqueued, "finding"), d.RunID, d.Delivery)
	}
}
