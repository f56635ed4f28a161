package pipeline

import (
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
	// committed says that Postgres is known to hold all of it.
	committed bool
	// recorded are the outcomes of the entries below the partition's next
	// offset, and of offsets that the log no longer has.
	recorded []ledger.Recorded
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
