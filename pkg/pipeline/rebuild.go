package pipeline

import (
	"context"
	"fmt"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// Rebuild: records that Postgres has settled and Kafka may not have published.
// Their outcomes are what is recorded, never computed again, so that a change of
// rules in between changes nothing.

// rebuild reads what is recorded for the batch's entries below the partition's
// next offset. A record that is recorded nowhere halts the partition: the ledger
// and the topic are not of one history. It tells whether the batch can go on.
func (w *Worker) rebuild(ctx context.Context, p *partition, b *batch) (bool, error) {
	if len(b.recorded) > 0 {
		return true, nil // in an attempt before this one
	}
	var known []*settle.Entry
	for i := range b.entries {
		if b.entries[i].Record.Offset < p.next {
			known = append(known, &b.entries[i])
		}
	}
	if len(known) == 0 {
		return true, nil
	}
	recorded, err := w.o.Ledger.Recorded(ctx, p.source, known)
	if err != nil {
		w.postpone(ctx, p, fmt.Errorf("rebuild: %w", err))
		return false, nil
	}
	for i, r := range recorded {
		if r.Kind == ledger.RecordedNothing {
			return false, w.halt(ctx, p, haltUnaccounted, fmt.Sprintf(
				"offset %d is below the next offset %d, and neither a posting, a duplicate, a dead letter nor in a gap", known[i].Record.Offset, p.next))
		}
	}
	b.recorded = recorded
	return true, nil
}
