package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/settle"
)

// Step 2, second half: what each record is, before the ledger has been asked.

// settleBatch settles the entries that have not been yet. An error says why the
// first of those left can't be, and is no fault of its: a dependency is away.
func (w *Worker) settleBatch(ctx context.Context, b *batch) error {
	for b.settled < len(b.entries) {
		if err := w.settleEntry(ctx, b, &b.entries[b.settled]); err != nil {
			if errors.Is(err, errSchemaPending) {
				w.askAhead(ctx, b.entries[b.settled+1:])
			}
			return err
		}
		b.settled++
	}
	return nil
}

// maxAskedAhead bounds how many further ids are asked for at a time.
const maxAskedAhead = 64

// askAhead asks for the unknown ids that come behind one that is unknown: their
// time begins now, and a batch of many waits for them once and not for each.
func (w *Worker) askAhead(ctx context.Context, entries []settle.Entry) {
	asked := map[int]bool{}
	for i := range entries {
		id, _, err := codec.SplitWire(entries[i].Record.Value)
		if err != nil || asked[id] {
			continue
		}
		asked[id] = true
		if _, _, err := w.schemas.find(ctx, id); err != nil && !errors.Is(err, errSchemaPending) {
			return // the registry is away; whose turn it is will say so
		}
		if len(asked) >= maxAskedAhead {
			return
		}
	}
}

func (w *Worker) settleEntry(ctx context.Context, b *batch, e *settle.Entry) error {
	var failure *settle.Failure
	if e.Delivery, failure = b.deliveryOf(&e.Record); failure != nil {
		e.Failure = failure
		return nil
	}
	if len(e.Record.Value) > w.o.MaxRecordBytes {
		e.Failure = settle.Structural(settle.ReasonRecordTooLarge, "", "").
			WithDetail("%d bytes, at most %d are taken", len(e.Record.Value), w.o.MaxRecordBytes)
		return nil
	}
	id, body, err := codec.SplitWire(e.Record.Value)
	if err != nil {
		e.Failure = settle.Structural(settle.ReasonInvalidWireFormat, "", "").WithDetail("%v", err)
		return nil
	}
	decoder, failure, err := w.schemas.find(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("schema id %d: %w", id, err)
	case failure != nil:
		e.Failure = failure
		return nil
	}
	e.Posting, e.Failure = w.o.Lane.Stream.Settle(&e.Record, body, decoder)
	return nil
}
