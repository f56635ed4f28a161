package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// What became of the records of runs, from the counters that are committed with
// the postings: the ledgers themselves, however large, aren't looked at.

// A DeliverySummary is what became of one delivery's records on one topic.
type DeliverySummary struct {
	settle.Delivery
	Topic string // with the installation's prefix
	Counts
	First, Last time.Time // when the first and the last of them were committed
}

// latestDeliveries are chosen whole: a limit never cuts one in two.
const latestDeliveries = `
WITH latest AS (
	SELECT run_id, delivery, max(last_at) AS at FROM run_counter
	GROUP BY run_id, delivery HAVING max(last_at) >= $1 ORDER BY at DESC, run_id, delivery LIMIT $2
)
SELECT c.run_id, c.delivery, s.topic,
	sum(c.applied)::bigint, sum(c.skipped)::bigint, sum(c.dead_lettered)::bigint, sum(c.disputed)::bigint,
	min(c.first_at), max(c.last_at)
FROM latest l JOIN run_counter c USING (run_id, delivery) JOIN source s USING (source)
GROUP BY l.at, c.run_id, c.delivery, s.topic ORDER BY l.at DESC, c.run_id, c.delivery, s.topic`

// Deliveries returns those of which anything was committed since then, the
// newest first, at most so many.
func (r *Reader) Deliveries(ctx context.Context, since time.Time, limit int) ([]DeliverySummary, error) {
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	rows, err := r.conn.Query(ctx, latestDeliveries, since.UTC(), limit)
	if err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d DeliverySummary, err error) {
		err = row.Scan(&d.RunID, &d.Delivery.Delivery, &d.Topic, &d.Applied, &d.Skipped, &d.DeadLettered, &d.Disputed, &d.First, &d.Last)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	return list, nil
}

// A SourceTally is what became of one delivery's records that came from one
// source.
type SourceTally struct {
	settle.Delivery
	Topic       string // with the installation's prefix
	TopicID     settle.TopicID
	Partition   int32
	Incarnation int32
	Counts
	Quantities  Quantities
	First, Last time.Time
}

// Run returns the tallies of a run, which are none where nothing of it has been
// settled.
func (r *Reader) Run(ctx context.Context, runID string) ([]SourceTally, error) {
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	rows, err := r.conn.Query(ctx, `
SELECT c.run_id, c.delivery, s.topic, s.topic_id, s.partition, s.incarnation,
	c.applied, c.skipped, c.dead_lettered, c.disputed, c.unmeasured,
	c.applied_quantity::text, c.skipped_quantity::text, c.dead_lettered_quantity::text, c.first_at, c.last_at
FROM run_counter c JOIN source s USING (source) WHERE c.run_id = $1
ORDER BY c.delivery, s.topic, s.topic_id, s.partition, s.incarnation`, runID)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	tallies, err := pgx.CollectRows(rows, scanSourceTally)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	return tallies, nil
}

func scanSourceTally(row pgx.CollectableRow) (t SourceTally, err error) {
	var id pgtype.UUID
	var sums [3]string
	err = row.Scan(&t.RunID, &t.Delivery.Delivery, &t.Topic, &id, &t.Partition, &t.Incarnation,
		&t.Applied, &t.Skipped, &t.DeadLettered, &t.Disputed, &t.Quantities.Unmeasured,
		&sums[0], &sums[1], &sums[2], &t.First, &t.Last)
	if err != nil {
		return t, err
	}
	t.TopicID = id.Bytes
	for i, into := range []*money.Sum{&t.Quantities.Applied, &t.Quantities.Skipped, &t.Quantities.DeadLettered} {
		if *into, err = money.ParseSum(sums[i]); err != nil {
			return t, err
		}
	}
	return t, nil
}

// A Halt is a partition that stands still until somebody mends it.
type Halt struct {
	TopicID   settle.TopicID
	Partition int32
	Reason    HaltReason
}

// Halts returns the partitions that are halted.
func (r *Reader) Halts(ctx context.Context) ([]Halt, error) {
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	rows, err := r.conn.Query(ctx, `
SELECT s.topic_id, s.partition, p.reason FROM progress p JOIN source s USING (source)
WHERE p.state = 'halted' ORDER BY s.topic, s.partition, s.source`)
	if err != nil {
		return nil, fmt.Errorf("halted partitions: %w", err)
	}
	halts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Halt, err error) {
		var id pgtype.UUID
		err = row.Scan(&id, &h.Partition, &h.Reason)
		h.TopicID = id.Bytes
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("halted partitions: %w", err)
	}
	return halts, nil
}
