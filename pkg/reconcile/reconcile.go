// Package reconcile compares what a market operator bills with the ledger of
// trades: for each trade and interval the newest revision of the newest version,
// never the sum of versions. What differs is a Finding, of the first class that
// explains it:
//
//  1. duplicate_in_statement: the statement has more than one such line. Its
//     amount is their sum.
//  2. missing_in_ledger, missing_in_statement: only one side has it, whatever
//     the amount.
//  3. Nothing: the amounts differ by no more than the tolerance, and the
//     quantity and the price are the ledger's, where the statement has them.
//  4. rounding: the amounts differ by a cent at most, quantity and price don't,
//     and the statement's amount is exactly mwh x price, rounded in another way.
//  5. stale_version: the statement's amount is exactly that of an older version
//     or revision; of several, the newest.
//  6. quantity: the statement states another one.
//  7. price: the same.
//  8. amount: none of these.
//
// The tolerance is for 3 alone: it says which differences are none, and explains
// none. A statement without nodes is compared with the sum over all nodes of a
// trade and interval. Where that's more than one, there's no version, quantity
// or price to compare with, and 4 to 7 are left out.
//
// Both sides come sorted from the ledger, so that memory doesn't grow with
// either.
package reconcile

import (
	"context"
	"fmt"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
)

// A Ledger puts a statement beside itself, as (*ledger.Ledger).CompareStatement
// does.
type Ledger interface {
	CompareStatement(ctx context.Context, scope ledger.ComparisonScope, next func() (*ledger.BilledLine, error), take func(*ledger.ComparedRow) error) error
}

// Options say what is compared, and how closely.
type Options struct {
	Scope Scope
	// Tolerance is by how much two amounts may differ and still tie.
	Tolerance money.Decimal
	// Each is told of every finding, in the order of interval, trade and node;
	// may be nil. An error of it ends the comparison.
	Each func(*Finding) error
	// Progress is told how much of the statement's text is read; may be nil.
	Progress func(done, total int64)
}

// Validate says what can't be meant.
func (o *Options) Validate() error {
	switch {
	case o.Tolerance.Sign() < 0:
		return fmt.Errorf("the tolerance is %s: want 0 or more", o.Tolerance)
	case o.Scope.From != "" && o.Scope.To != "" && o.Scope.To <= o.Scope.From:
		return fmt.Errorf("no interval is from %s on and before %s", o.Scope.From, o.Scope.To)
	}
	return nil
}

// Run compares a statement with the ledger. The error is a *BadLinesError,
// ErrNoNodes or ErrNothingCompared where the statement can't be compared, else
// one of reading it, of the ledger or of Each.
func Run(ctx context.Context, book Ledger, statement *Statement, options Options) (*Report, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if len(options.Scope.Nodes) > 0 && !statement.byNode {
		return nil, ErrNoNodes
	}
	reader, err := statement.newReader(&options.Scope, options.Progress)
	if err != nil {
		return nil, err
	}
	scope := ledger.ComparisonScope{
		From: options.Scope.From, To: options.Scope.To, Nodes: options.Scope.Nodes, ByNode: statement.byNode,
	}
	report := newReport()
	c := &comparison{judge: judge{tolerance: options.Tolerance}, byNode: statement.byNode, report: report, each: options.Each}
	next := func() (*ledger.BilledLine, error) {
		line, err := reader.next(ctx)
		if err == nil {
			c.period.add(line.SettlementInterval)
		}
		return line, err
	}
	if err := book.CompareStatement(ctx, scope, next, c.take); err != nil {
		return nil, err
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	report.finish()
	report.First, report.Last = c.period.first, c.period.last
	report.Lines, report.OutsideScope, report.UnusedColumns = reader.read, reader.outside, statement.unused
	if report.All.Trades == 0 {
		return nil, ErrNothingCompared
	}
	return report, nil
}
