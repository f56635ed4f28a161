package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// Outcome records. Whether an outcome is fresh or rebuilt from the ledger, the
// same functions make its record of the same values, so that both are alike.

// RunKindOriginal is the run kind of every posting that is not a recalculation.
const RunKindOriginal = "original"

// outcomeValue is the Avro record io.tieout.outcome.Outcome.
type outcomeValue struct {
	ReconciliationKey string `avro:"reconciliation_key"`
	Version           int64  `avro:"version"`
	Revision          int32  `avro:"revision"`
	RunKind           string `avro:"run_kind"`
	Outcome           string `avro:"outcome"`
	Amount            []byte `avro:"amount"`
	Claimed           []byte `avro:"claimed"`
	Difference        []byte `avro:"difference"`
	Currency          string `avro:"currency"`
	PrevVersion       *int64 `avro:"prev_version"`
	PrevAmount        []byte `avro:"prev_amount"`
}

// Scales of the amounts in outcomeValue.
const (
	amountScale  = 2
	claimedScale = 9
)

// outcomeEncoder makes outcome records.
type outcomeEncoder struct {
	encoders    map[string]*codec.Encoder // by topic, without prefix
	topicPrefix string
	group       string
	topics      settle.OutcomeTopics
	// maxMessageBytes is the least max.message.bytes of the outcome topics.
	maxMessageBytes int
}

// An outcomeMaker makes the outcome records of one batch. What many records
// need a little of each is made for many at a time, and kept alive by them.
type outcomeMaker struct {
	*outcomeEncoder
	chunk    []byte
	headers  []kgo.RecordHeader
	records  []kgo.Record
	delivery settle.Delivery // of the last record, with its bytes
	run, id  []byte
}

// outcomesOf makes the outcome records of one batch, in offset order: first
// what was recorded before, then what is fresh.
func (w *Worker) outcomesOf(p *partition, b *batch) ([]*kgo.Record, error) {
	outcomes := make([]*kgo.Record, 0, len(b.recorded)+len(b.fresh))
	m := &outcomeMaker{outcomeEncoder: &w.outcomes, records: make([]kgo.Record, 0, cap(outcomes))}
	at := settle.Coordinates{TopicID: p.topicID, Partition: p.id}
	for i := range b.recorded {
		r := &b.recorded[i]
		at.Offset = r.Offset
		var traceparent []byte
		if i < len(b.entries) {
			traceparent, _ = b.entries[i].Record.Header(settle.HeaderTraceparent)
		}
		var record *kgo.Record
		var err error
		switch r.Kind {
		case ledger.RecordedPosting:
			record, err = m.posting(at, &r.Posting, r.Delivery, traceparent)
		case ledger.RecordedDeadLetter:
			d := r.DeadLetter
			record = m.deadLetter(&settle.Record{
				Coordinates: at, Topic: w.o.Topic(), Key: d.Key, Value: d.Value, Headers: d.Headers,
			}, &d.Failure, r.Delivery)
		default:
			continue // duplicates and gaps publish nothing
		}
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, record)
	}
	for _, e := range b.fresh {
		record, err := m.fresh(e)
		if err != nil {
			return nil, err
		}
		if record != nil {
			outcomes = append(outcomes, record)
		}
	}
	return outcomes, nil
}

// fresh makes the outcome of an entry that the ledger has just taken; nil where
// it publishes none.
func (o *outcomeMaker) fresh(e *settle.Entry) (*kgo.Record, error) {
	switch e.Outcome {
	case settle.AutoPost, settle.Dispute:
		traceparent, _ := e.Record.Header(settle.HeaderTraceparent)
		return o.posting(e.Record.Coordinates, &e.Posting, e.Delivery, traceparent)
	case settle.DeadLetter:
		return o.deadLetter(&e.Record, e.Failure, e.Delivery), nil
	case settle.DuplicateSkipped:
		return nil, nil
	}
	return nil, fmt.Errorf("offset %d: the ledger gave the outcome %q", e.Record.Offset, e.Outcome)
}

// posting makes the outcome record of a posting.
func (o *outcomeMaker) posting(at settle.Coordinates, p *settle.Posting, d settle.Delivery, traceparent []byte) (*kgo.Record, error) {
	topic := o.topics.AutoPost
	if p.Outcome == settle.Dispute {
		topic = o.topics.Dispute
	}
	if topic == "" {
		return nil, fmt.Errorf("outcome of %s: the lane has no topic for %s", at, p.Outcome)
	}
	key := p.Key.AppendHex(o.room(64))
	value, err := o.value(topic, string(key), p)
	if err != nil {
		return nil, fmt.Errorf("outcome of %s: %w", at, err)
	}
	run, id := o.deliveryBytes(d)
	headers := append(o.headerRoom(5),
		kgo.RecordHeader{Key: settle.HeaderCorrelationID, Value: append(o.room(len(p.CorrelationID)), p.CorrelationID...)},
		kgo.RecordHeader{Key: settle.HeaderRunID, Value: run},
		kgo.RecordHeader{Key: settle.HeaderDelivery, Value: id},
		kgo.RecordHeader{Key: settle.HeaderSource, Value: at.AppendTo(o.room(coordinatesBytes))},
	)
	if len(traceparent) > 0 {
		headers = append(headers, kgo.RecordHeader{Key: settle.HeaderTraceparent, Value: traceparent})
	}
	return o.fit(o.record(kgo.Record{Topic: o.topicPrefix + topic, Key: key, Value: value, Headers: headers})), nil
}

func (o *outcomeMaker) value(topic, key string, p *settle.Posting) ([]byte, error) {
	v := outcomeValue{
		ReconciliationKey: key, Version: p.Version, Revision: p.Revision, RunKind: RunKindOriginal,
		Outcome: string(p.Outcome), Currency: p.Currency, PrevVersion: p.PrevVersion,
	}
	for _, field := range []struct {
		into  *[]byte
		from  money.NullDecimal
		scale int32
	}{
		{&v.Amount, money.NullDecimal{Decimal: p.Amount, Valid: true}, amountScale},
		{&v.Claimed, p.Claimed, claimedScale},
		{&v.Difference, p.Difference, claimedScale},
		{&v.PrevAmount, p.PrevAmount, amountScale},
	} {
		if !field.from.Valid {
			continue // nil is null
		}
		bytes, err := field.from.Decimal.AppendUnscaled(o.room(decimalBytes), field.scale)
		if err != nil {
			return nil, err
		}
		*field.into = bytes
	}
	return o.encoders[topic].Append(o.room(outcomeBytes), &v)
}

// deadLetter makes the dead letter of a record: its own key, value and
// headers, and behind them what tieout says of it. A header that tieout writes
// replaces any of that name.
func (o *outcomeMaker) deadLetter(r *settle.Record, f *settle.Failure, d settle.Delivery) *kgo.Record {
	ours := []kgo.RecordHeader{
		{Key: settle.HeaderRunID, Value: []byte(d.RunID)},
		{Key: settle.HeaderDelivery, Value: []byte(d.Delivery)},
		{Key: settle.HeaderSource, Value: []byte(r.String())},
		{Key: settle.HeaderErrorTopic, Value: []byte(r.Topic)},
		{Key: settle.HeaderErrorPartition, Value: strconv.AppendInt(nil, int64(r.Partition), 10)},
		{Key: settle.HeaderErrorOffset, Value: strconv.AppendInt(nil, r.Offset, 10)},
		{Key: settle.HeaderErrorGroup, Value: []byte(o.group)},
		{Key: settle.HeaderErrorMessage, Value: []byte(f.Message())},
		{Key: settle.HeaderErrorClass, Value: []byte(f.Class)},
		{Key: settle.HeaderErrorReason, Value: []byte(f.Reason)},
		{Key: settle.HeaderErrorField, Value: []byte(f.Field)},
	}
	headers := make([]kgo.RecordHeader, 0, len(r.Headers)+len(ours))
	for _, h := range r.Headers {
		if !writtenByTieout(h.Key) {
			headers = append(headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	return o.fit(&kgo.Record{Topic: o.topicPrefix + o.topics.DeadLetter, Key: r.Key, Value: r.Value, Headers: append(headers, ours...)})
}

func writtenByTieout(header string) bool {
	switch header {
	case settle.HeaderRunID, settle.HeaderDelivery, settle.HeaderSource:
		return true
	}
	return strings.HasPrefix(header, "__dlq.errors.")
}

// Sizes of an outcome: what a usual one takes, how many share a chunk, and what
// Kafka's record batch adds to a record.
const (
	decimalBytes     = 16 // 38 digits are 127 bits
	outcomeBytes     = 160
	chunkBytes       = 64 << 10
	headersAtATime   = 1024
	coordinatesBytes = 64
	batchOverhead    = 61
	recordOverhead   = 40
	headerOverhead   = 10
	headerPointer    = "tieout.pointer"
	pointerMessage   = "the record is too large for this topic; it is whole in the ledger, at its tieout.source"
)

// fit replaces an outcome that its topic would refuse by a pointer: no value,
// the same key and headers, and one that says where it is whole.
func (o *outcomeEncoder) fit(r *kgo.Record) *kgo.Record {
	if o.sizeOf(r) <= o.maxMessageBytes {
		return r
	}
	r.Value = nil
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: headerPointer, Value: []byte(pointerMessage)})
	if o.sizeOf(r) <= o.maxMessageBytes {
		return r
	}
	// Even key and headers are too much: only what tieout itself wrote is kept.
	kept := r.Headers[:0]
	for _, h := range r.Headers {
		if writtenByTieout(h.Key) || h.Key == headerPointer || h.Key == settle.HeaderCorrelationID {
			kept = append(kept, h)
		}
	}
	r.Headers = kept
	if o.sizeOf(r) > o.maxMessageBytes {
		r.Key = nil
	}
	return r
}

func (o *outcomeEncoder) sizeOf(r *kgo.Record) int {
	size := batchOverhead + recordOverhead + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += headerOverhead + len(h.Key) + len(h.Value)
	}
	return size
}

// room returns an empty slice with space for n bytes, from a chunk that the
// records share.
func (o *outcomeMaker) room(n int) []byte {
	if cap(o.chunk)-len(o.chunk) < n {
		o.chunk = make([]byte, 0, chunkBytes)
	}
	start := len(o.chunk)
	o.chunk = o.chunk[:start+n]
	return o.chunk[start : start : start+n]
}

// deliveryBytes are those of most records of a batch.
func (o *outcomeMaker) deliveryBytes(d settle.Delivery) (run, id []byte) {
	if o.run == nil || d != o.delivery {
		o.delivery, o.run, o.id = d, []byte(d.RunID), []byte(d.Delivery)
	}
	return o.run, o.id
}

// headerRoom returns an empty slice with space for n headers.
func (o *outcomeMaker) headerRoom(n int) []kgo.RecordHeader {
	if cap(o.headers)-len(o.headers) < n {
		o.headers = make([]kgo.RecordHeader, 0, headersAtATime)
	}
	start := len(o.headers)
	o.headers = o.headers[:start+n]
	return o.headers[start : start : start+n]
}

// record keeps a record beside the others.
func (o *outcomeMaker) record(r kgo.Record) *kgo.Record {
	if len(o.records) == cap(o.records) {
		return &r
	}
	o.records = append(o.records, r)
	return &o.records[len(o.records)-1]
}
