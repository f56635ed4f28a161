package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// Counts say what became of a delivery's records.
type Counts struct {
	Applied      int64 // posted, disputed ones among them
	Skipped      int64
	DeadLettered int64
	Disputed     int64
}

// Total is every record that was counted.
func (c Counts) Total() int64 { return c.Applied + c.Skipped + c.DeadLettered }

// Add adds what was counted elsewhere.
func (c *Counts) Add(o Counts) {
	c.Applied += o.Applied
	c.Skipped += o.Skipped
	c.DeadLettered += o.DeadLettered
	c.Disputed += o.Disputed
}

func (c *Counts) add(outcome settle.Outcome) {
	switch outcome {
	case settle.Dispute:
		c.Applied++
		c.Disputed++
	case settle.AutoPost:
		c.Applied++
	case settle.DuplicateSkipped:
		c.Skipped++
	case settle.DeadLetter:
		c.DeadLettered++
	}
}

// Quantities are what a delivery's records add up to in the stream's quantity,
// by what became of them.
type Quantities struct {
	Applied      money.Sum
	Skipped      money.Sum
	DeadLettered money.Sum

	// Unmeasured counts the records whose quantity is in none of the sums: it
	// couldn't be read, or the stream has none.
	Unmeasured int64
}

// Total is the sum over every record whose quantity is known.
func (q Quantities) Total() money.Sum { return q.Applied.Plus(q.Skipped).Plus(q.DeadLettered) }

// Add adds what was counted elsewhere.
func (q *Quantities) Add(o Quantities) {
	q.Applied = q.Applied.Plus(o.Applied)
	q.Skipped = q.Skipped.Plus(o.Skipped)
	q.DeadLettered = q.DeadLettered.Plus(o.DeadLettered)
	q.Unmeasured += o.Unmeasured
}

func (q *Quantities) add(outcome settle.Outcome, quantity *money.NullDecimal) {
	if !quantity.Valid {
		q.Unmeasured++
		return
	}
	switch outcome {
	case settle.Dispute, settle.AutoPost:
		q.Applied.Add(quantity.Decimal)
	case settle.DuplicateSkipped:
		q.Skipped.Add(quantity.Decimal)
	case settle.DeadLetter:
		q.DeadLettered.Add(quantity.Decimal)
	}
}

// A tally is what one batch adds to a delivery.
type tally struct {
	counts     Counts
	quantities Quantities
}

// counters are what one batch adds, for each delivery in it. Most batches are of
// one, which is why the last one is kept at hand.
type counters struct {
	of   map[settle.Delivery]*tally
	last settle.Delivery
	hand *tally
}

func (c *counters) add(d settle.Delivery, outcome settle.Outcome, quantity *money.NullDecimal) {
	if c.hand == nil || d != c.last {
		c.last, c.hand = d, c.tally(d)
	}
	c.hand.counts.add(outcome)
	c.hand.quantities.add(outcome, quantity)
}

func (c *counters) tally(d settle.Delivery) *tally {
	d = settle.Delivery{RunID: cleanText(d.RunID), Delivery: cleanText(d.Delivery)}
	t := c.of[d]
	if t == nil {
		if c.of == nil {
			c.of = make(map[settle.Delivery]*tally)
		}
		t = &tally{}
		c.of[d] = t
	}
	return t
}

const addCounters = `
INSERT INTO run_counter AS c (source, run_id, delivery, applied, skipped, dead_lettered, disputed,
	applied_quantity, skipped_quantity, dead_lettered_quantity, unmeasured)
SELECT $1::int, n.* FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
	$8::text[]::numeric[], $9::text[]::numeric[], $10::text[]::numeric[], $11::bigint[]) AS n
ON CONFLICT (run_id, delivery, source) DO UPDATE SET
	applied = c.applied + excluded.applied, skipped = c.skipped + excluded.skipped,
	dead_lettered = c.dead_lettered + excluded.dead_lettered, disputed = c.disputed + excluded.disputed,
	applied_quantity = c.applied_quantity + excluded.applied_quantity,
	skipped_quantity = c.skipped_quantity + excluded.skipped_quantity,
	dead_lettered_quantity = c.dead_lettered_quantity + excluded.dead_lettered_quantity,
	unmeasured = c.unmeasured + excluded.unmeasured,
	first_at = least(c.first_at, excluded.first_at), last_at = greatest(c.last_at, excluded.last_at)`

// queue adds a batch's counts to the source's own rows, in the order of their
// key, in which everyone locks them.
func (c *counters) queue(batch *pgx.Batch, source int32) {
	deliveries := make([]settle.Delivery, 0, len(c.of))
	for d := range c.of {
		deliveries = append(deliveries, d)
	}
	slices.SortFunc(deliveries, func(a, b settle.Delivery) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Delivery, b.Delivery))
	})
	var runs, sendings, appliedSums, skippedSums, deadSums []string
	var applied, skipped, dead, disputed, unmeasured []int64
	for _, d := range deliveries {
		counts, sums := c.of[d].counts, c.of[d].quantities
		runs, sendings = append(runs, d.RunID), append(sendings, d.Delivery)
		applied, skipped = append(applied, counts.Applied), append(skipped, counts.Skipped)
		dead, disputed = append(dead, counts.DeadLettered), append(disputed, counts.Disputed)
		appliedSums, skippedSums = append(appliedSums, sums.Applied.String()), append(skippedSums, sums.Skipped.String())
		deadSums, unmeasured = append(deadSums, sums.DeadLettered.String()), append(unmeasured, sums.Unmeasured)
	}
	batch.Queue(addCounters, source, runs, sendings, applied, skipped, dead, disputed, appliedSums, skippedSums, deadSums, unmeasured)
}

// A DeliveryCounts is what became of one delivery, over all sources.
type DeliveryCounts struct {
	settle.Delivery
	Counts
}

// RunCounts sums the counters of a run's deliveries, in the order in which they
// came.
func (l *Ledger) RunCounts(ctx context.Context, runID string) ([]DeliveryCounts, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	rows, err := l.pool.Query(ctx, `
SELECT delivery, sum(applied)::bigint, sum(skipped)::bigint, sum(dead_lettered)::bigint, sum(disputed)::bigint
FROM run_counter WHERE run_id = $1 GROUP BY delivery ORDER BY min(first_at), delivery`, runID)
	if err != nil {
		return nil, fmt.Errorf("counts of run %s: %w", runID, l.plain(err))
	}
	counts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (DeliveryCounts, error) {
		c := DeliveryCounts{Delivery: settle.Delivery{RunID: runID}}
		err := row.Scan(&c.Delivery.Delivery, &c.Applied, &c.Skipped, &c.DeadLettered, &c.Disputed)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("counts of run %s: %w", runID, l.plain(err))
	}
	return counts, nil
}
