package pipeline

import (
	"context"
	"errors"
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
	fetches := w.session.kafka.PollRecords(ctx, w.o.MaxPollRecords)
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

// takeErrors sorts what a poll complains of: what is the partition's own
// sends it back to step 1, which finds out what the log still has.
func (w *Worker) takeErrors(ctx context.Context, fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		var lost *kgo.ErrDataLoss
		switch p := w.partition(e.Partition); {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return sessionLost(e.Err)
		case p == nil || e.Topic != w.o.Topic():
			w.setTrouble("fetch: " + e.Err.Error())
		case errors.As(e.Err, &lost) && p.stage == stageOwned:
			if err := w.halt(ctx, p, haltLogTruncated, e.Err.Error()); err != nil {
				return err
			}
		case errors.Is(e.Err, kerr.OffsetOutOfRange), errors.Is(e.Err, kerr.UnknownTopicID), errors.Is(e.Err, kerr.UnknownTopicOrPartition):
			if p.stage == stageOwned {
				p.reassign()
			}
			w.postpone(ctx, p, e.Err)
		default:
			// Retried by the client; told, so that a lasting one shows.
			w.setTrouble("fetch: " + e.Err.Error())
		}
	}
	return nil
}

// takeRecords makes the batch of one partition. What is below published is out
// on the topics already; a first record above the expected one is believed
// only if the broker tells somebody outside the group the same.
func (w *Worker) takeRecords(ctx context.Context, topicID settle.TopicID, f kgo.FetchPartition) {
	p := w.partition(f.Partition)
	if p == nil || p.stage != stageOwned || p.batch != nil {
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
	p.batch = newBatch(topicID, p.expected, records)
	p.expected = p.batch.next
}
