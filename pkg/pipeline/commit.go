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
		if errors.Is(err, errSchemaPending) {
			p.retry.later(time.Now(), w.o.RetryBase, w.o.RetryMax) // one record's trouble, not the worker's
		} else {
			w.postpone(ctx, p, err)
		}
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
	if p.batch != b || !b.committed {
		return nil
	}
	return w.makeOutcomes(p) // here, beside other partitions' commits
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
		LeaderEpoch: b.leaderEpoch, Published: p.published, Poison: &b.poison, Entries: b.fresh,
	})
	if err != nil {
		return w.notCommitted(ctx, p, err)
	}
	p.next, p.floorWritten = b.next, p.published
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
	var refused *ledger.RefusedBatchError
	var poisoned *ledger.PoisonedBatchError
	switch {
	case w.fenced(ctx, p, err):
		return sessionLost(err)
	case p.stage != stageOwned:
		return nil // the row has no owner; step 1 reads why
	case errors.As(err, &unknown):
		// Nothing is guessed: step 1 waits for the old backend and reads the row.
		p.groupOffset, p.groupEpoch = p.published, -1
		p.reassign()
	case errors.As(err, &poisoned):
		return nil // the search goes on in the next round; other partitions don't wait for it
	case errors.As(err, &refused) && p.batch.rest != nil:
		p.batch.extend(p.batch.rest)
		p.batch.rest = nil
	case errors.As(err, &refused):
		if !p.batch.refused {
			p.batch.refused, p.batch.refusedAt = true, time.Now()
		}
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
