package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/settle"
)

// Step 2, first half: records from the broker, in order and without a hole.

// poll waits for records, at most PollWait or until a partition's retry is due.
func (w *Worker) poll(ctx context.Context) kgo.Fetches {
	wait := w.o.PollWait
	now := time.Now()
	for _, p := range w.held() {
		if !p.retry.at.IsZero() {
			wait = min(wait, max(p.retry.at.Sub(now), time.Millisecond))
		} else if p.batch != nil || p.stage == stageAssigned {
			wait = time.Millisecond
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	started := time.Now()
	client := w.session.client()
	limit := pollLimit(w.o.MaxPollRecords, w.o.MaxPollBytes, client.BufferedFetchRecords(), client.BufferedFetchBytes())
	fetches := w.session.kafka.PollRecords(ctx, limit)
	w.budget.polled(client.BufferedFetchBytes())
	w.polled = fetches.NumRecords()
	if fetches.NumRecords() > 0 {
		w.o.Metrics.Took(w.o.Lane.Name, StagePoll, time.Since(started))
	}
	return fetches
}

// take puts the polled records into their partitions' hands.
func (w *Worker) take(ctx context.Context, fetches kgo.Fetches) error {
	if err := w.takeErrors(ctx, fetches); err != nil {
		return err
	}
	fetches.EachTopic(func(t kgo.FetchTopic) {
		t.EachPartition(func(f kgo.FetchPartition) {
			w.takeRecords(ctx, settle.TopicID(t.TopicID), f)
		})
	})
	return nil
}

// takeErrors sorts what a poll complains of.
func (w *Worker) takeErrors(ctx context.Context, fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		switch p := w.partition(e.Partition); {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled), errors.Is(e.Err, errFetchBudget):
			// Nothing came in time, or enough.
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return sessionLost(e.Err)
		case p == nil || e.Topic != w.o.Topic():
			w.setTrouble("fetch: " + e.Err.Error())
		default:
			if err := w.takePartitionError(ctx, p, e.Err); err != nil {
				return err
			}
		}
	}
	return nil
}

// takePartitionError halts a partition whose log can't be read on, and sends one
// back to step 1 that the broker doesn't have as expected: step 1 finds out
// what the log still has.
func (w *Worker) takePartitionError(ctx context.Context, p *partition, err error) error {
	var lost *kgo.ErrDataLoss
	var tooLarge *kgo.ErrDecompressTooLarge
	owned := p.stage == stageOwned
	switch {
	case errors.As(err, &lost) && owned:
		return w.halt(ctx, p, haltLogTruncated, err.Error())
	case errors.As(err, &tooLarge) && owned:
		return w.halt(ctx, p, haltBatchTooLarge, fmt.Sprintf(
			"the broker's batch of offsets %d to %d is more than %d bytes once it is decompressed", tooLarge.Offset, tooLarge.NextOffset-1, w.o.MaxDecompressBytes))
	case errors.Is(err, kerr.OffsetOutOfRange), errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition):
		if owned {
			p.reassign()
		}
		w.postpone(ctx, p, err)
	default:
		// Retried by the client; told, so that a lasting one shows.
		w.setTrouble("fetch: " + err.Error())
	}
	return nil
}

// takeRecords makes the batch of one partition. What is below published is out
// on the topics already; a first record above the expected one is believed
// only if the broker tells somebody outside the group the same.
func (w *Worker) takeRecords(ctx context.Context, topicID settle.TopicID, f kgo.FetchPartition) {
	p := w.partition(f.Partition)
	if p == nil || p.stage != stageOwned || (p.batch != nil && !p.batch.refused) {
		return // withheld by the client; it comes again from the offset that step 1 sets
	}
	if topicID != p.topicID {
		p.reassign()
		return
	}
	records := f.Records
	for len(records) > 0 && records[0].Offset < p.expected {
		records = records[1:]
	}
	if len(records) == 0 {
		return
	}
	whole, err := w.contiguous(ctx, p, records)
	if err != nil {
		w.postpone(ctx, p, err)
	}
	if !whole {
		w.session.seek(w.o.Topic(), p.id, p.expected, -1)
		return
	}
	taken := newBatch(topicID, p.expected, records)
	p.expected = taken.next
	if p.batch == nil {
		p.batch = taken
		return
	}
	p.batch.extend(taken)
	p.retry.reset()
}
