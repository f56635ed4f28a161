package pipeline

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// A batch is what was polled of one partition, on its way through steps 2 to 4.
//
// Invariant: entries are in offset order, none below from, none at or above
// next. Those below the partition's next offset are settled already and are
// rebuilt; the rest is settled by Commit.
type batch struct {
	from, next  int64
	leaderEpoch int32
	entries     []settle.Entry

	// rest is what has to wait while this much goes.
	rest *batch

	// settled counts the leading entries that Settle has seen.
	settled int
	// poison is what the ledger knows of records in it that it refuses.
	poison ledger.Poison
	// refused says that the ledger took none of it. Whether they or the ledger
	// are at fault, another record tells: the batch waits for more.
	refused   bool
	refusedAt time.Time
	// committed says that Postgres is known to hold all of it.
	committed bool
	// recorded are the outcomes of the entries below the partition's next
	// offset, and of offsets that the log no longer has.
	recorded []ledger.Recorded
	// outcomes are the records to publish, once they're made.
	outcomes []*kgo.Record
	// delivery is the last record's: most of a batch have the same.
	delivery settle.Delivery
	// fresh are the entries at or above it.
	fresh []*settle.Entry
}

// newBatch takes over the records of one partition of a fetch.
func newBatch(topicID settle.TopicID, from int64, records []*kgo.Record) *batch {
	last := records[len(records)-1]
	b := &batch{from: from, next: last.Offset + 1, leaderEpoch: last.LeaderEpoch, entries: make([]settle.Entry, len(records))}
	for i, r := range records {
		b.entries[i].Record = settle.Record{
			Coordinates: settle.Coordinates{TopicID: topicID, Partition: r.Partition, Offset: r.Offset},
			Topic:       r.Topic,
			LeaderEpoch: r.LeaderEpoch,
			Timestamp:   r.Timestamp,
			Key:         r.Key,
			Value:       r.Value,
			Headers:     headersOf(r),
		}
	}
	return b
}

// extend takes more records behind those in hand.
func (b *batch) extend(more *batch) {
	b.entries = append(b.entries, more.entries...)
	b.next, b.leaderEpoch, b.refused = more.next, more.leaderEpoch, false
}

func headersOf(r *kgo.Record) []settle.Header {
	if len(r.Headers) == 0 {
		return nil
	}
	headers := make([]settle.Header, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = settle.Header{Key: h.Key, Value: h.Value}
	}
	return headers
}

// cut splits the batch in front of entry i: what is left in hand is what
// comes before, and the rest is returned.
func (b *batch) cut(i int) (rest *batch) {
	rest = &batch{
		from: b.entries[i].Record.Offset, next: b.next, leaderEpoch: b.leaderEpoch,
		entries: b.entries[i:], settled: max(0, b.settled-i),
	}
	b.next = rest.from
	b.entries = b.entries[:i]
	b.settled = min(b.settled, i)
	if i > 0 {
		b.leaderEpoch = b.entries[i-1].Record.LeaderEpoch
	}
	return rest
}

// deliveryOf is settle.DeliveryOf, which makes nothing new of what the record
// before had.
func (b *batch) deliveryOf(r *settle.Record) (settle.Delivery, *settle.Failure) {
	run, _ := r.Header(settle.HeaderRunID)
	id, _ := r.Header(settle.HeaderDelivery)
	if b.delivery.RunID != "" && string(run) == b.delivery.RunID && string(id) == b.delivery.Delivery {
		return b.delivery, nil
	}
	d, failure := settle.DeliveryOf(r)
	if failure == nil {
		b.delivery = d
	}
	return d, failure
}
