package pipeline

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tieout/tieout/pkg/ledger"
)

// Step 3: one Postgres transaction a partition, partitions in parallel.

// commit settles and commits every batch in hand that is due. A partition whose
// dependency is away keeps its batch; the others go on.
func (w *Worker) commit(ctx context.Context) error {
	var group errgroup.Group
	group.SetLimit(w.o.Parallelism)
	now := time.Now()
	for _, p := range w.held() {
		if p.stage == stageOwned && p.batch != nil && !p.batch.committed && p.retry.due(now) {
			group.Go(func() error { return w.commitOne(ctx, p) })
		}
	}
	return group.Wait()
}

func (w *Worker) commitOne(ctx context.Context, p *partition) error {
	b := p.batch
	started := time.Now()
	if err := w.settleBatch(ctx, b); err != nil {
		// What comes before the record that has to wait can go.
		if b.settled > 0 {
			b.rest = b.cut(b.settled)
		}
		w.postpone(ctx, p, err)
		if b.settled == 0 {
			return nil
		}
	}
	w.o.Metrics.Took(w.o.Lane.Name, StageSettle, time.Since(started))

	started = time.Now()
	if rebuilt, err := w.rebuild(ctx, p, b); err != nil || !rebuilt {
		return err
	}
	if err := w.commitFresh(ctx, p, b); err != nil {
		return err
	}
	w.o.Metrics.Took(w.o.Lane.Name, StagePostgres, time.Since(started))
	return nil
}

// commitFresh commits the entries that the ledger has not seen.
func (w *Worker) commitFresh(ctx context.Context, p *partition, b *batch) error {
	b.fresh = b.fresh[:0]
	for i := range b.entries {
		if b.entries[i].Record.Offset >= p.next {
			b.fresh = append(b.fresh, &b.entries[i])
		}
	}
	if len(b.fresh) == 0 {
		b.committed = true
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.CommitTimeout)
	defer cancel()
	err := w.o.Ledger.Commit(ctx, &ledger.Batch{
		Source: p.source, Owner: p.owner, From: p.next, Next: b.next,
		LeaderEpoch: b.leaderEpoch, Published: p.published, Entries: b.fresh,
	})
	if err != nil {
		return w.notCommitted(ctx, p, err)
	}
	p.next, p.floorWritten = b.next, p.published
	p.lastTimestamp = b.fresh[len(b.fresh)-1].Record.Timestamp
	b.committed = true
	if b.rest == nil {
		p.retry.reset()
		p.enter(stageOwned, "")
	}
	return nil
}

// notCommitted sorts why a batch is not in the ledger, or not known to be.
func (w *Worker) notCommitted(ctx context.Context, p *partition, err error) error {
	var unknown *ledger.UnknownCommitError
	switch {
	case w.fenced(ctx, p, err):
		return sessionLost(err)
	case p.stage != stageOwned:
		return nil // the row has no owner; step 1 reads why
	case errors.As(err, &unknown):
		// Nothing is guessed: step 1 waits for the old backend and reads the row.
		p.groupOffset, p.groupEpoch = p.published, -1
		p.reassign()
	}
	w.postpone(ctx, p, err)
	return nil
}

// fenced tells whether err says that another worker has the partition. Where
// the row just has no owner, the partition goes back to step 1.
func (w *Worker) fenced(ctx context.Context, p *partition, err error) bool {
	var fenced *ledger.FencedError
	if !errors.As(err, &fenced) {
		return false
	}
	if fenced.OwnerNull {
		p.groupOffset, p.groupEpoch = p.published, -1
		p.reassign()
		return false
	}
	w.o.Metrics.Fenced(w.o.Lane.Name)
	w.o.Logger.WarnContext(ctx, "fenced: another worker has the partition", "topic", w.o.Topic(), "partition", p.id)
	return true
}
