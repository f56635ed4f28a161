package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/ledger"
)

// drainCheckEvery spaces the looks at whether a drain is done.
const drainCheckEvery = 300 * time.Millisecond

// drainPatience is how long a drain waits for a record that tells whether the
// ledger is at fault or those that it refuses.
const drainPatience = 10 * time.Second

// drained tells whether the group has nothing left to settle on the lane's
// topic, whoever owns the partitions. A halted partition never gets there by
// itself, and ends the drain with why.
func (w *Worker) drained(ctx context.Context) (bool, error) {
	if w.polled > 0 || time.Since(w.lastDrainCheck) < drainCheckEvery {
		return false, nil
	}
	w.lastDrainCheck = time.Now()
	for _, p := range w.held() {
		switch {
		case p.batch == nil:
		case p.batch.refused && time.Since(p.batch.refusedAt) > drainPatience:
			return false, fmt.Errorf("%w: %s[%d]: %s", ErrNotDrained, w.o.Topic(), p.id, p.reason)
		default:
			return false, nil
		}
	}
	starts, ends, err := w.unread(ctx)
	if err != nil {
		w.setTrouble("drain: " + err.Error())
		return false, nil //nolint:nilerr // the broker is away; asked again
	}
	if len(ends) == 0 {
		return true, nil
	}
	if err := w.haltedRow(ctx, ends); err != nil {
		return false, err
	}
	// A partition that ends in transaction markers has no record left.
	left := false
	err = w.readRange(ctx, starts, ends, func(*kgo.Record) bool {
		left = true
		return false
	})
	if err != nil {
		w.setTrouble("drain: " + err.Error())
		return false, nil //nolint:nilerr // the broker is away; asked again
	}
	return !left, nil
}

// unread returns, for each partition whose end the group has not reached, where
// the group stands and where the partition ends.
func (w *Worker) unread(ctx context.Context) (starts, ends kadm.ListedOffsets, err error) {
	topic := w.o.Topic()
	committed, err := w.admin.FetchOffsetsForTopics(ctx, w.o.Group(), topic)
	if err != nil {
		return nil, nil, err
	}
	first, err := w.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	last, err := w.admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	if err := last.Error(); err != nil {
		return nil, nil, err
	}
	starts = kadm.ListedOffsets{topic: {}}
	ends = kadm.ListedOffsets{}
	for id, end := range last[topic] {
		start := first[topic][id]
		if at, ok := committed.Lookup(topic, id); ok && at.At > start.Offset {
			start.Offset = at.At
		}
		if start.Offset < end.Offset {
			if ends[topic] == nil {
				ends[topic] = map[int32]kadm.ListedOffset{}
			}
			starts[topic][id], ends[topic][id] = start, end
		}
	}
	return starts, ends, nil
}

// haltedRow looks for a halted row among the partitions that have records left.
func (w *Worker) haltedRow(ctx context.Context, ends kadm.ListedOffsets) error {
	rows, err := w.o.Ledger.ProgressRows(ctx)
	if err != nil {
		w.setTrouble("drain: " + err.Error())
		return nil //nolint:nilerr // the database is away; asked again
	}
	for _, row := range rows {
		if _, left := ends.Lookup(row.Topic, row.Partition); left && row.State == ledger.StateHalted {
			return &HaltedError{Topic: row.Topic, Partition: row.Partition, Reason: string(row.Reason), Detail: row.Detail}
		}
	}
	return nil
}
