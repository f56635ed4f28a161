package pipeline

import (
	"context"
	"fmt"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/settle"
)

// Step 2, second half: what each record is, before the ledger has been asked.

// settleBatch settles the entries that have not been yet. An error says why the
// first of those left can't be, and is no fault of its: a dependency is away.
func (w *Worker) settleBatch(ctx context.Context, b *batch) error {
	for b.settled < len(b.entries) {
		if err := w.settleEntry(ctx, &b.entries[b.settled]); err != nil {
			return err
		}
		b.settled++
	}
	return nil
}

func (w *Worker) settleEntry(ctx context.Context, e *settle.Entry) error {
	var failure *settle.Failure
	if e.Delivery, failure = settle.DeliveryOf(&e.Record); failure != nil {
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
