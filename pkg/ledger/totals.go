package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// A Total is what is posted in one currency.
type Total struct {
	Currency string
	Outcome  settle.Outcome // empty: of all outcomes
	Rows     int64
	Amount   money.Decimal
}

// Totals adds up the ledger: for each currency one total, and one for each
// outcome. It reads every row.
func (l *Ledger) Totals(ctx context.Context) ([]Total, error) {
	return l.totalsOf(ctx, l.opts.Table.Name)
}

// CurrentTotals does the same with what counts: of each thing the newest
// version and revision.
func (l *Ledger) CurrentTotals(ctx context.Context) ([]Total, error) {
	return l.totalsOf(ctx, l.opts.Table.Name+"_current")
}

func (l *Ledger) totalsOf(ctx context.Context, relation string) ([]Total, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	rows, err := l.pool.Query(ctx, "SELECT "+columnCurrency+", coalesce(outcome, ''), count(*), sum(amount)::text FROM "+relation+
		" GROUP BY GROUPING SETS (("+columnCurrency+"), ("+columnCurrency+", outcome)) ORDER BY 1, 2")
	if err != nil {
		return nil, fmt.Errorf("totals of %s: %w", relation, err)
	}
	totals, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Total, err error) {
		var amount string
		if err := row.Scan(&t.Currency, &t.Outcome, &t.Rows, &amount); err != nil {
			return t, err
		}
		t.Amount, err = money.Parse(amount)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("totals of %s: %w", relation, err)
	}
	return totals, nil
}
