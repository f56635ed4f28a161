package producer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/tieout/tieout/pkg/settle"
)

// Bounds of what is under way.
const (
	// connectTimeout bounds the questions asked before the first record.
	connectTimeout = 10 * time.Second
	// maxBufferedRecords and maxBufferedBytes bound what waits for
	// acknowledgement; enough for a few full requests to each broker.
	maxBufferedRecords = 20_000
	maxBufferedBytes   = 32 << 20
	// linger trades a little latency for fuller batches: a file's lines come
	// much faster than one a linger.
	linger = 5 * time.Millisecond
)

// A Receipt says what the broker has acknowledged: all of it is on every
// in-sync replica.
type Receipt struct {
	Acknowledged int64
	Partitions   map[int32]int64
	First, Last  time.Time // timestamps of the earliest and the latest record
}

// A sender puts records onto one topic, in order, for one delivery. The first
// record that can't be delivered ends it: what came behind it would otherwise
// overtake it when it's sent again.
type sender struct {
	client  *kgo.Client
	topic   string
	topicID settle.TopicID     // once it's connected
	headers []kgo.RecordHeader // of every record: run and delivery

	mu      sync.Mutex
	receipt Receipt
	failure error
}

// newSender makes the client. Nothing is connected yet.
func newSender(o *Options, topic string) (*sender, error) {
	client, err := kgo.NewClient(append(slices.Clone(o.Client),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
		kgo.ProducerLinger(linger),
		kgo.MaxBufferedRecords(maxBufferedRecords),
		kgo.MaxBufferedBytes(maxBufferedBytes),
		kgo.RecordDeliveryTimeout(o.DeliveryTimeout),
		// A record that was sent and not answered must be given up in the end.
		// Sent again by another delivery it may stand twice: a duplicate.
		kgo.AllowIdempotentProduceCancellation(),
		// Java's default: murmur2 of the key, so that every producer puts a key
		// onto the same partition.
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	)...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	return &sender{
		client: client,
		topic:  topic,
		headers: []kgo.RecordHeader{
			{Key: settle.HeaderRunID, Value: []byte(o.RunID)},
			{Key: settle.HeaderDelivery, Value: []byte(o.Delivery)},
		},
		receipt: Receipt{Partitions: make(map[int32]int64)},
	}, nil
}

// connect asks for the topic, so that a broker that is away and a topic that is
// missing show before anything is sent.
func (s *sender) connect(ctx context.Context) (err error) {
	s.topicID, err = s.find(ctx, s.topic)
	return err
}

// find returns the id of a topic that there is.
func (s *sender) find(ctx context.Context, topic string) (id settle.TopicID, err error) {
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	topics, err := kadm.NewClient(s.client).ListTopics(limited, topic)
	if err == nil {
		err = topics[topic].Err
	}
	switch {
	case ctx.Err() != nil:
		return id, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return id, s.brokerError(fmt.Errorf("no answer within %s", connectTimeout))
	case err != nil:
		return id, s.explained(topic, err)
	}
	return settle.TopicID(topics[topic].ID), nil
}

// send hands one record to the client, and waits for room where much is under
// way already. It reports an earlier record's failure.
func (s *sender) send(ctx context.Context, key, value []byte, correlationID string) error {
	if err := s.failed(); err != nil {
		return err
	}
	headers := make([]kgo.RecordHeader, 0, len(s.headers)+maxOwnHeaders)
	headers = append(headers, s.headers...)
	headers = append(headers, kgo.RecordHeader{Key: settle.HeaderCorrelationID, Value: []byte(correlationID)})
	headers = appendTrace(ctx, headers)
	s.client.Produce(ctx, &kgo.Record{Topic: s.topic, Key: key, Value: value, Headers: headers}, s.acknowledged)
	return nil
}

// maxOwnHeaders is how many headers a record has beside those that all have:
// correlation id, traceparent and tracestate.
const maxOwnHeaders = 3

// appendTrace adds the W3C trace context, where ctx has one.
func appendTrace(ctx context.Context, headers []kgo.RecordHeader) []kgo.RecordHeader {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return headers
	}
	carrier := make(propagation.MapCarrier)
	propagation.TraceContext{}.Inject(ctx, carrier)
	for key, value := range carrier {
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	return headers
}

// acknowledged is called by the client for every record, one after another.
func (s *sender) acknowledged(record *kgo.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.receipt.Acknowledged++
		s.receipt.Partitions[record.Partition]++
		s.receipt.note(record.Timestamp)
	case s.failure == nil:
		s.failure = s.explained(s.topic, err)
	}
}

// note widens the time that the records span.
func (r *Receipt) note(at time.Time) {
	if r.First.IsZero() || at.Before(r.First) {
		r.First = at
	}
	if at.After(r.Last) {
		r.Last = at
	}
}

// flush waits until every record is acknowledged, or has failed.
func (s *sender) flush(ctx context.Context) error {
	if err := s.failed(); err != nil {
		return err
	}
	if err := s.client.Flush(ctx); err != nil {
		return s.brokerError(fmt.Errorf("records are not acknowledged: %w", err))
	}
	return s.failed()
}

func (s *sender) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Receipt says what is acknowledged by now.
func (s *sender) Receipt() Receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	receipt := s.receipt
	receipt.Partitions = maps.Clone(receipt.Partitions)
	return receipt
}

// Close drops the connections, and what is not acknowledged.
func (s *sender) Close() { s.client.Close() }

// explained says what a topic's refusal means to whoever sends.
func (s *sender) explained(topic string, err error) error {
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return &TopicMissingError{Topic: topic}
	case errors.Is(err, kerr.MessageTooLarge):
		return fmt.Errorf("topic %s refuses a record for its size: raise its max.message.bytes (%w)", topic, err)
	default:
		return s.brokerError(err)
	}
}

func (s *sender) brokerError(err error) error {
	brokers, _ := s.client.OptValue(kgo.SeedBrokers).([]string)
	return &BrokerError{Brokers: strings.Join(brokers, ","), Err: err}
}
