package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// Step 5: the floor in Postgres, below which everything is published, follows
// what is known to be published. It is what a worker begins from when the group
// has lost its offset; the higher it is, the less is read back.

// floorTimeout bounds floors that are written on the way out.
const floorTimeout = 2 * time.Second

// floorMargin is how much further back than the floor's own time the outcome
// topics are read: the clocks of brokers and database may differ that much.
const floorMargin = 10 * time.Minute

// writeFloors writes the floor of every partition that has gone idle, or of
// all. Those that are busy write theirs with the next batch.
func (w *Worker) writeFloors(ctx context.Context, all bool) error {
	idleSince := time.Now().Add(-w.o.FloorIdle)
	for _, p := range w.held() {
		if p.stage != stageOwned || !p.retry.due(time.Now()) || (!all && p.publishedAt.After(idleSince)) {
			continue
		}
		held, err := w.writeFloor(ctx, p)
		switch {
		case err != nil:
			w.postpone(ctx, p, err)
		case held && p.batch == nil && p.reason != "":
			p.retry.reset() // the database is back
			p.enter(stageOwned, "")
		case !held:
			if err := w.floorRefused(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// floorRefused sorts why a row isn't ours any more: taken from everybody, it's
// to be read again; taken by another, this session is over.
func (w *Worker) floorRefused(ctx context.Context, p *partition) error {
	rows, err := w.o.Ledger.ProgressRows(ctx)
	if err != nil {
		w.postpone(ctx, p, err)
		return nil
	}
	why := &ledger.FencedError{Source: p.source}
	for _, row := range rows {
		if row.Source == p.source {
			why.OwnerNull, why.NextOffset = !row.Owned, row.NextOffset
		}
	}
	if w.fenced(ctx, p, why) {
		return sessionLost(why)
	}
	return nil
}

// writeFloor writes one floor, and tells whether the row is still ours.
func (w *Worker) writeFloor(ctx context.Context, p *partition) (held bool, err error) {
	if p.stage != stageOwned || p.floorWritten >= p.published {
		return true, nil
	}
	held, err = w.o.Ledger.WriteFloor(ctx, p.source, p.owner, p.published)
	if held && err == nil {
		p.floorWritten = p.published
	}
	return held, err
}

// outcomeFloors is what one reading of the outcome topics found: for each
// source partition, the offset behind the highest that has an outcome there.
type outcomeFloors struct {
	since time.Time
	above map[sourcePartition]int64
}

type sourcePartition struct {
	topicID   settle.TopicID
	partition int32
}

// floorFromOutcomes finds how far a partition's outcomes have been published,
// from the outcome topics themselves. Within a partition they are published in
// order, so that the highest one found stands for all before it.
func (w *Worker) floorFromOutcomes(ctx context.Context, p *partition, publishedAt time.Time) (int64, error) {
	since := publishedAt.Add(-floorMargin)
	w.floorsMu.Lock()
	defer w.floorsMu.Unlock()
	if w.floors == nil || since.Before(w.floors.since) {
		floors, err := w.readOutcomeFloors(ctx, since)
		if err != nil {
			return 0, err
		}
		w.floors = floors
	}
	return w.floors.above[sourcePartition{p.topicID, p.id}], nil
}

func (w *Worker) readOutcomeFloors(ctx context.Context, since time.Time) (*outcomeFloors, error) {
	topics := w.outcomeTopics()
	starts, err := w.admin.ListOffsetsAfterMilli(ctx, since.UnixMilli(), topics...)
	if err != nil {
		return nil, err
	}
	ends, err := w.admin.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(starts.Error(), ends.Error()); err != nil {
		return nil, err
	}
	floors := &outcomeFloors{since: since, above: map[sourcePartition]int64{}}
	err = w.readRange(ctx, starts, ends, func(r *kgo.Record) bool {
		if !r.Attrs.IsTransactional() {
			return true // not ours: producers write to dead-letter topics, too
		}
		for _, h := range r.Headers {
			if h.Key != settle.HeaderSource {
				continue
			}
			if at, err := settle.ParseCoordinates(string(h.Value)); err == nil {
				key := sourcePartition{at.TopicID, at.Partition}
				floors.above[key] = max(floors.above[key], at.Offset+1)
			}
		}
		return true
	})
	return floors, err
}

// readRange hands over the committed records between two offsets of each
// partition, until each is read or visit returns false.
func (w *Worker) readRange(ctx context.Context, starts, ends kadm.ListedOffsets, visit func(*kgo.Record) bool) error {
	from := map[string]map[int32]kgo.Offset{}
	left := map[string]map[int32]int64{} // the ends not reached yet
	open := 0
	ends.Each(func(end kadm.ListedOffset) {
		start, ok := starts.Lookup(end.Topic, end.Partition)
		if !ok || start.Offset < 0 || start.Offset >= end.Offset {
			return
		}
		if from[end.Topic] == nil {
			from[end.Topic], left[end.Topic] = map[int32]kgo.Offset{}, map[int32]int64{}
		}
		from[end.Topic][end.Partition] = kgo.NewOffset().At(start.Offset)
		left[end.Topic][end.Partition] = end.Offset
		open++
	})
	if open == 0 {
		return nil
	}
	// Markers are kept, so that the end of a partition is seen where its last
	// record is one.
	reader, err := w.openReader(from, kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer reader.close()
	for open > 0 {
		fetches, err := reader.poll(ctx, w.o.MaxPollRecords)
		if err != nil {
			return err
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			end, reading := left[r.Topic][r.Partition]
			if !reading {
				continue
			}
			if r.Offset < end && !r.Attrs.IsControl() && !visit(r) {
				return nil
			}
			if r.Offset >= end-1 {
				delete(left[r.Topic], r.Partition)
				open--
			}
		}
	}
	return nil
}

func (w *Worker) outcomeTopics() []string {
	topics := w.o.Lane.Topics.All()
	for i := range topics {
		topics[i] = w.o.TopicPrefix + topics[i]
	}
	return topics
}
