package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/settle"
)

// Step 4: outcomes and offsets in one Kafka transaction, after Postgres.

// publish publishes every batch that is known to be in Postgres. What is
// published moves on only when the transaction is known to have committed.
func (w *Worker) publish(ctx context.Context) error {
	var ready []*partition
	var outcomes []*kgo.Record
	var offsets []commitOffset
	for _, p := range w.held() {
		if p.stage != stageOwned || p.batch == nil || !p.batch.committed {
			continue
		}
		if err := w.makeOutcomes(p); err != nil {
			return err
		}
		ready = append(ready, p)
		outcomes = append(outcomes, p.batch.outcomes...)
		offsets = append(offsets, commitOffset{partition: p.id, offset: p.batch.next, epoch: p.batch.leaderEpoch})
	}
	if len(ready) == 0 {
		return nil
	}
	started := time.Now()
	// The broker aborts a transaction that takes longer; and as long as this one
	// isn't over, the client can't even be told that it lost its membership.
	ctx, cancel := context.WithTimeout(ctx, w.o.TransactionTimeout)
	defer cancel()
	end, err := w.session.transact(ctx, w.o.Topic(), ready[0].topicID, outcomes, offsets)
	if err == nil && end == endUntold {
		end, err = w.askHowItEnded(ctx, offsets)
	}
	switch {
	case err != nil && !w.o.InstanceIsOwn && fencedByName(err, time.Since(started), w.o.TransactionTimeout):
		return fmt.Errorf("%w: %s: %w", ErrFencedByName, w.o.Instance, err)
	case err != nil:
		return sessionLost(err)
	case end == endAborted:
		w.o.Logger.InfoContext(ctx, "transaction aborted by a rebalance", "partitions", len(ready))
		w.dropAll()
		return nil
	}
	w.o.Metrics.Took(w.o.Lane.Name, StageKafka, time.Since(started))
	for _, p := range ready {
		w.published(p)
	}
	return nil
}

// makeOutcomes makes a committed batch's outcomes, if they aren't made yet.
func (w *Worker) makeOutcomes(p *partition) (err error) {
	if p.batch.outcomes == nil {
		if p.batch.outcomes, err = w.outcomesOf(p, p.batch); err != nil {
			return fmt.Errorf("outcomes of %s[%d]: %w", w.o.Topic(), p.id, err)
		}
	}
	return nil
}

// askHowItEnded finds out what became of a transaction from the offsets that it
// was to commit. The client says (false, nil) where a rebalance made it abort,
// and also where the broker's answer to a commit was no answer. The coordinator
// withholds a partition's offset as long as a transaction on it is open, so
// that an offset it tells is the truth: all new, or all old.
func (w *Worker) askHowItEnded(ctx context.Context, offsets []commitOffset) (ending, error) {
	for sleep(ctx, endPollEvery) {
		told, err := w.admin.FetchOffsetsForTopics(kadm.RequireStable(ctx), w.o.Group(), w.o.Topic())
		if err != nil {
			return 0, fmt.Errorf("ask how the transaction ended: %w", err)
		}
		committed, pending := 0, 0
		for _, o := range offsets {
			at, ok := told.Lookup(w.o.Topic(), o.partition)
			switch {
			case errors.Is(at.Err, kerr.UnstableOffsetCommit):
				pending++
			case at.Err != nil:
				return 0, fmt.Errorf("ask how the transaction ended: %w", at.Err)
			case ok && at.At >= o.offset:
				committed++
			}
		}
		switch {
		case pending > 0:
		case committed == 0:
			return endAborted, nil
		case committed == len(offsets):
			return endCommitted, nil
		default:
			return 0, fmt.Errorf("%d of %d offsets of a transaction are committed: another worker has been here", committed, len(offsets))
		}
	}
	return 0, fmt.Errorf("ask how the transaction ended: %w", ctx.Err())
}

// endPollEvery spaces the questions while a transaction is still open.
const endPollEvery = 50 * time.Millisecond

// published moves a partition on: its batch is done.
func (w *Worker) published(p *partition) {
	b := p.batch
	p.published, p.publishedAt = b.next, time.Now()
	p.groupOffset, p.groupEpoch = b.next, b.leaderEpoch
	p.batch = b.rest
	w.count(b)
}

// count tells what became of a batch's fresh records; rebuilt ones were
// counted by whoever settled them.
func (w *Worker) count(b *batch) {
	type label struct {
		outcome settle.Outcome
		class   settle.Class
		reason  settle.Reason
	}
	counts := map[label]int{}
	for _, e := range b.fresh {
		l := label{outcome: e.Outcome}
		if e.Outcome == settle.DeadLetter {
			l.class, l.reason = e.Failure.Class, e.Failure.Reason
		}
		counts[l]++
	}
	for l, n := range counts {
		w.o.Metrics.Outcomes(w.o.Lane.Name, string(l.outcome), string(l.class), string(l.reason), n)
	}
}
