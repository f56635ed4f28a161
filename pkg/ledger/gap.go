package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// GapFirstSeen is the reason of the gap before the start of a log that was first
// seen when it no longer began at 0.
const GapFirstSeen = "first_seen"

// A Gap is a range of offsets that were left out.
type Gap struct {
	From, To  int64 // To is the first offset that wasn't
	Reason    string
	CreatedBy string
	CreatedAt time.Time
}

// Contains tells whether an offset was left out.
func (g Gap) Contains(offset int64) bool { return g.From <= offset && offset < g.To }

// Gaps returns a source's gaps, in order.
func (l *Ledger) Gaps(ctx context.Context, source int32) ([]Gap, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	gaps, err := readGaps(ctx, l.pool, source)
	return gaps, l.plain(err)
}

func readGaps(ctx context.Context, q querier, source int32) ([]Gap, error) {
	rows, err := q.Query(ctx, `
SELECT from_offset, to_offset, reason, created_by, created_at FROM gap WHERE source = $1 ORDER BY from_offset`, source)
	if err != nil {
		return nil, fmt.Errorf("gaps of source %d: %w", source, err)
	}
	gaps, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g Gap, err error) {
		err = row.Scan(&g.From, &g.To, &g.Reason, &g.CreatedBy, &g.CreatedAt)
		return g, err
	})
	if err != nil {
		return nil, fmt.Errorf("gaps of source %d: %w", source, err)
	}
	return gaps, nil
}
