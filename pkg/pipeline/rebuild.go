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
	if recorded, err = w.byCoordinates(ctx, p, known, recorded); err != nil {
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

// byCoordinates looks once more for what was not found by key: a record that
// today's rules refuse has no key to be found by, but may be posted.
func (w *Worker) byCoordinates(ctx context.Context, p *partition, known []*settle.Entry, recorded []ledger.Recorded) ([]ledger.Recorded, error) {
	first, last := int64(-1), int64(-1)
	for i, r := range recorded {
		if r.Kind == ledger.RecordedNothing {
			if first < 0 {
				first = known[i].Record.Offset
			}
			last = known[i].Record.Offset
		}
	}
	if first < 0 {
		return recorded, nil
	}
	found, err := w.o.Ledger.RecordedRange(ctx, p.source, first, last+1)
	if err != nil {
		return nil, err
	}
	at := make(map[int64]ledger.Recorded, len(found))
	for _, r := range found {
		at[r.Offset] = r
	}
	for i := range recorded {
		if r, ok := at[known[i].Record.Offset]; ok && recorded[i].Kind == ledger.RecordedNothing {
			recorded[i] = r
		}
	}
	return recorded, nil
}
