package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// Step 1. A partition that was assigned is fenced and read in one statement;
// then fetching begins at the greater of the group's offset and the floor.

// Reasons of a halt that this package finds; pkg/ledger has the others.
const (
	haltOutOfRetention ledger.HaltReason = "out_of_retention"
	haltLogTruncated   ledger.HaltReason = "log_truncated"
	haltBatchTooLarge  ledger.HaltReason = "batch_too_large"
	haltUnaccounted    ledger.HaltReason = "unaccounted_record"
	haltLedgerBehind   ledger.HaltReason = "ledger_behind"
)

// A logRange is what the broker has of a partition.
type logRange struct{ start, end int64 }

// acquire does step 1 for every partition that is due: newly assigned, fenced
// by a mend, or halted and to be looked at again. What a dependency's outage
// keeps from being acquired is tried again later.
func (w *Worker) acquire(ctx context.Context) error {
	var due []*partition
	now := time.Now()
	for _, p := range w.held() {
		if p.stage != stageOwned && p.retry.due(now) {
			due = append(due, p)
		}
	}
	if len(due) == 0 {
		return nil
	}
	w.floors = nil
	topicID, ranges, err := w.describeTopic(ctx)
	if err != nil {
		for _, p := range due {
			w.postpone(ctx, p, fmt.Errorf("describe %s: %w", w.o.Topic(), err))
		}
		return nil
	}
	var group errgroup.Group
	group.SetLimit(w.o.Parallelism)
	for _, p := range due {
		group.Go(func() error {
			r, ok := ranges[p.id]
			if !ok {
				w.postpone(ctx, p, fmt.Errorf("the broker doesn't tell the offsets of %s[%d]", w.o.Topic(), p.id))
				return nil
			}
			return w.acquireOne(ctx, p, topicID, r)
		})
	}
	return group.Wait()
}

func (w *Worker) acquireOne(ctx context.Context, p *partition, topicID settle.TopicID, log logRange) error {
	owner := newToken()
	row, err := w.o.Ledger.Acquire(ctx, ledger.AcquireRequest{
		Topic: w.o.Topic(), TopicID: topicID, Partition: p.id, Owner: owner, GroupOffset: p.groupOffset, LogStart: log.start,
	})
	var other *ledger.OtherGroupError
	switch {
	case errors.As(err, &other):
		return err
	case err != nil:
		w.postpone(ctx, p, fmt.Errorf("step 1: %w", err))
		return nil
	case row.State == ledger.StateHalted:
		p.next, p.published = row.NextOffset, row.PublishedOffset
		w.halted(ctx, p, string(row.Reason), row.Detail)
		return nil
	}
	p.topicID, p.source, p.owner, p.next = topicID, row.Source, owner, row.NextOffset
	p.floorWritten = row.PublishedOffset
	start, err := w.startOf(ctx, p, row)
	if err != nil {
		w.postpone(ctx, p, fmt.Errorf("find the floor in the outcome topics: %w", err))
		return nil
	}
	return w.begin(ctx, p, start, row, log)
}

// startOf is the greater of the group's committed offset and the floor. Where
// the group has lost its offset, the outcome topics raise the floor.
func (w *Worker) startOf(ctx context.Context, p *partition, row ledger.Progress) (int64, error) {
	start := max(p.groupOffset, row.PublishedOffset)
	if p.groupOffset >= 0 || row.PublishedOffset >= row.NextOffset {
		return start, nil
	}
	floor, err := w.floorFromOutcomes(ctx, p, row.PublishedAt)
	return max(start, floor), err
}

// begin takes up an acquired partition at start, or halts it where the log
// can't go on from there.
func (w *Worker) begin(ctx context.Context, p *partition, start int64, row ledger.Progress, log logRange) error {
	switch {
	case start > row.NextOffset:
		return w.halt(ctx, p, haltLedgerBehind, fmt.Sprintf("outcomes are published up to offset %d, the ledger has settled up to %d", start, row.NextOffset))
	case log.start > row.NextOffset:
		return w.halt(ctx, p, haltOutOfRetention, fmt.Sprintf("the log begins at offset %d, behind the next offset %d: %d offsets are lost", log.start, row.NextOffset, log.start-row.NextOffset))
	case log.end < row.NextOffset:
		return w.halt(ctx, p, haltLogTruncated, fmt.Sprintf("the log ends at offset %d, before the next offset %d", log.end, row.NextOffset))
	}
	p.published, p.expected = start, start
	switch {
	case start < log.start:
		// The log no longer has what may not be published yet; the ledger does.
		recorded, err := w.o.Ledger.RecordedRange(ctx, p.source, start, log.start)
		if err != nil {
			w.postpone(ctx, p, fmt.Errorf("rebuild offsets %d to %d from the ledger: %w", start, log.start, err))
			return nil
		}
		p.batch = &batch{from: start, next: log.start, leaderEpoch: -1, recorded: recorded, committed: true}
		p.expected = log.start
	case start > p.groupOffset && start > 0:
		// The group has lost its offset: it gets it back, by itself.
		p.batch = &batch{from: start, next: start, leaderEpoch: -1, committed: true}
	}
	epoch := int32(-1) // without one, truncation below start doesn't show
	switch p.expected {
	case p.groupOffset:
		epoch = p.groupEpoch
	case row.NextOffset:
		epoch = row.LeaderEpoch
	}
	p.enter(stageOwned, "")
	p.retry.reset()
	w.session.seek(w.o.Topic(), p.id, p.expected, epoch)
	w.o.Logger.DebugContext(ctx, "partition acquired", "partition", p.id, "source", p.source, "next_offset", p.next, "published", p.published)
	return nil
}

// describeTopic asks the broker for the topic's id and for what it has of each
// partition.
func (w *Worker) describeTopic(ctx context.Context) (id settle.TopicID, ranges map[int32]logRange, err error) {
	topic := w.o.Topic()
	topics, err := w.admin.ListTopics(ctx, topic)
	if err != nil {
		return id, nil, err
	}
	if err := topics[topic].Err; err != nil {
		return id, nil, err
	}
	starts, err := w.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return id, nil, err
	}
	ends, err := w.admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return id, nil, err
	}
	ranges = map[int32]logRange{}
	for partition, start := range starts[topic] {
		end, ok := ends.Lookup(topic, partition)
		if ok && start.Err == nil && end.Err == nil {
			ranges[partition] = logRange{start.Offset, end.Offset}
		}
	}
	return settle.TopicID(topics[topic].ID), ranges, nil
}

// halt writes down that a partition can't go on, and why; its row has no owner
// then. Only the command that mends it lets it go on.
func (w *Worker) halt(ctx context.Context, p *partition, reason ledger.HaltReason, detail string) error {
	if err := w.o.Ledger.Halt(ctx, p.source, p.owner, reason, detail); err != nil {
		if w.fenced(ctx, p, err) {
			return sessionLost(err)
		}
		p.reassign()
		w.postpone(ctx, p, fmt.Errorf("halt: %w", err))
		return nil
	}
	w.halted(ctx, p, string(reason), detail)
	return nil
}

func (w *Worker) halted(ctx context.Context, p *partition, reason, detail string) {
	p.batch = nil
	p.enter(stageHalted, reason+": "+detail)
	p.retry.in(time.Now(), w.o.HaltRecheck)
	if p.logOnce(reason + detail) {
		w.o.Logger.ErrorContext(ctx, "partition halted", "topic", w.o.Topic(), "partition", p.id, "reason", reason, "detail", detail)
	}
}

// postpone keeps a partition waiting for a dependency that is away. It spends
// no record's budget and convicts none.
func (w *Worker) postpone(ctx context.Context, p *partition, why error) {
	p.retry.later(time.Now(), w.o.RetryBase, w.o.RetryMax)
	p.enter(p.stage, why.Error())
	if p.logOnce(why.Error()) {
		w.o.Logger.WarnContext(ctx, "partition waits", "topic", w.o.Topic(), "partition", p.id, "error", why)
	}
}

// newToken draws an owner token.
func newToken() (t ledger.Token) {
	// crypto/rand.Read never fails; it ends the process instead.
	_, _ = rand.Read(t[:])
	return t
}
