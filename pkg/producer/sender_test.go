package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/otel/trace"

	"github.com/tieout/tieout/pkg/settle"
)

const testTopic = "recon.accrue"

// startKafka starts a broker of the test's own with the topic on it.
func startKafka(t *testing.T, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(6, testTopic)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster
}

func testSender(t *testing.T, timeout time.Duration, brokers ...string) *sender {
	t.Helper()
	options := Options{RunID: "run", DeliveryTimeout: timeout, Client: []kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ProduceRequestTimeout(time.Second), kgo.RequestTimeoutOverhead(time.Second),
	}}
	require.NoError(t, options.Validate())
	s, err := newSender(&options, testTopic)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// consumed reads so many records with a client of the test's own, by partition
// in order.
func consumed(t *testing.T, cluster *kfake.Cluster, count int) map[int32][]*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(testTopic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	records := make(map[int32][]*kgo.Record)
	for seen := 0; seen < count; {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { records[r.Partition] = append(records[r.Partition], r); seen++ })
	}
	return records
}

func TestSender_KeepsOrderAndPutsAKeyWhereJavaDoes(t *testing.T) {
	t.Parallel()
	cluster := startKafka(t)
	s := testSender(t, time.Minute, cluster.ListenAddrs()...)
	require.NoError(t, s.connect(t.Context()))

	const count = 30_000
	for i := range count {
		key := fmt.Appendf(nil, "%064x", i%1000)
		require.NoError(t, s.send(t.Context(), key, fmt.Appendf(nil, "%d", i), "correlation"))
	}
	require.NoError(t, s.flush(t.Context()))

	receipt := s.Receipt()
	require.EqualValues(t, count, receipt.Acknowledged)
	records := consumed(t, cluster, count)
	for partition, onPartition := range records {
		require.EqualValues(t, len(onPartition), receipt.Partitions[partition])
		last := -1
		for _, record := range onPartition {
			var i int
			_, err := fmt.Sscan(string(record.Value), &i)
			require.NoError(t, err)
			require.Greater(t, i, last, "order is kept")
			last = i
			require.EqualValues(t, (murmur2(record.Key)&0x7fffffff)%6, partition)
		}
	}
	require.Len(t, records, 6)
}

// The vectors are those of Kafka's own UtilsTest.
func TestMurmur2_OfThisTestIsKafkas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string":                       -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		require.Equal(t, want, int32(murmur2([]byte(text))), text)
	}
}

// murmur2 is written from Kafka's Utils.murmur2.
func murmur2(data []byte) uint32 {
	const m, r = 0x5bd1e995, 24
	h := uint32(0x9747b28c) ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
		k *= m
		k ^= k >> r
		h = h*m ^ k*m
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(data[0])) * m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

func TestSender_RecordsCarryTheirHeaders(t *testing.T) {
	t.Parallel()
	cluster := startKafka(t)
	s := testSender(t, time.Minute, cluster.ListenAddrs()...)
	traced := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	require.NoError(t, s.send(t.Context(), []byte("key"), []byte("plain"), "run:2"))
	require.NoError(t, s.send(traced, []byte("key"), []byte("traced"), "run:3"))
	require.NoError(t, s.flush(t.Context()))

	delivery := string(s.headers[1].Value)
	for _, records := range consumed(t, cluster, 2) {
		require.Equal(t, []kgo.RecordHeader{
			{Key: settle.HeaderRunID, Value: []byte("run")},
			{Key: settle.HeaderDelivery, Value: []byte(delivery)},
			{Key: settle.HeaderCorrelationID, Value: []byte("run:2")},
		}, records[0].Headers)
		require.Equal(t, "00-01000000000000000000000000000000-0200000000000000-01", string(records[1].Headers[3].Value))
		require.Equal(t, settle.HeaderTraceparent, records[1].Headers[3].Key)
		require.Len(t, records[1].Headers, 4)
	}
}

func TestSender_AsksForAcksOfAllReplicasIdempotentlyAndCompresses(t *testing.T) {
	t.Parallel()
	cluster := startKafka(t)
	type produced struct {
		acks       int16
		attributes int16
		producerID int64
	}
	seen := make(chan produced, 10)
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		produce, _ := request.(*kmsg.ProduceRequest)
		var batch kmsg.RecordBatch
		if err := batch.ReadFrom(produce.Topics[0].Partitions[0].Records); err == nil {
			seen <- produced{produce.Acks, batch.Attributes & 7, batch.ProducerID}
		}
		return nil, nil, false
	})
	s := testSender(t, time.Minute, cluster.ListenAddrs()...)
	require.NoError(t, s.send(t.Context(), []byte("key"), bytes.Repeat([]byte("x"), 5000), "c"))
	require.NoError(t, s.flush(t.Context()))
	got := <-seen
	require.EqualValues(t, -1, got.acks)
	require.NotZero(t, got.attributes, "compressed")
	require.Positive(t, got.producerID, "idempotent")
}

func TestSender_SaysWhatIsWrongBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	t.Run("broker not reachable", func(t *testing.T) {
		t.Parallel()
		s := testSender(t, time.Minute, "127.0.0.1:1")
		require.EqualError(t, s.connect(t.Context()),
			"Kafka at 127.0.0.1:1: unable to dial: dial tcp 127.0.0.1:1: connect: connection refused")
	})
	t.Run("topic missing", func(t *testing.T) {
		t.Parallel()
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		require.NoError(t, err)
		t.Cleanup(cluster.Close)
		s := testSender(t, time.Minute, cluster.ListenAddrs()...)
		require.EqualError(t, s.connect(t.Context()), "topic recon.accrue does not exist: run `tieout setup`")
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // takes connections and says nothing
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, listener.Close()) })
		s := testSender(t, time.Minute, listener.Addr().String())
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, context.Canceled)
		defer cancel()
		require.ErrorIs(t, s.connect(ctx), context.DeadlineExceeded)
	})
}

func TestSender_FirstFailureEndsIt(t *testing.T) {
	t.Parallel()
	t.Run("the broker refuses one for its size", func(t *testing.T) {
		t.Parallel()
		cluster := startKafka(t)
		s := testSender(t, time.Minute, cluster.ListenAddrs()...)
		require.NoError(t, s.send(t.Context(), []byte("key"), []byte("small"), "c"))
		require.NoError(t, s.flush(t.Context()))
		require.NoError(t, s.send(t.Context(), []byte("key"), make([]byte, 2<<20), "c"))
		err := s.flush(t.Context())
		require.ErrorIs(t, err, kerr.MessageTooLarge)
		require.ErrorContains(t, err, "raise its max.message.bytes")
		require.Equal(t, err, s.send(t.Context(), []byte("key"), []byte("small"), "c"))
		require.EqualValues(t, 1, s.Receipt().Acknowledged)
	})
	t.Run("the broker goes away", func(t *testing.T) {
		t.Parallel()
		cluster := startKafka(t)
		s := testSender(t, time.Second, cluster.ListenAddrs()...)
		require.NoError(t, s.send(t.Context(), []byte("key"), []byte("1"), "c"))
		require.NoError(t, s.flush(t.Context()))
		cluster.Close()
		require.NoError(t, s.send(t.Context(), []byte("key"), []byte("2"), "c"))
		start := time.Now()
		var broker *BrokerError
		require.ErrorAs(t, s.flush(t.Context()), &broker)
		require.Less(t, time.Since(start), 20*time.Second)
		require.EqualValues(t, 1, s.Receipt().Acknowledged)
	})
	t.Run("the broker does not answer any more", func(t *testing.T) {
		t.Parallel()
		cluster := startKafka(t)
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			return nil, nil, true // no reply
		})
		s := testSender(t, time.Second, cluster.ListenAddrs()...)
		require.NoError(t, s.connect(t.Context()))
		require.NoError(t, s.send(t.Context(), []byte("key"), []byte("1"), "c"))
		var broker *BrokerError
		require.ErrorAs(t, s.flush(t.Context()), &broker)
		require.Zero(t, s.Receipt().Acknowledged)
	})
	t.Run("the topic goes away", func(t *testing.T) {
		t.Parallel()
		cluster := startKafka(t)
		s := testSender(t, 5*time.Second, cluster.ListenAddrs()...)
		require.NoError(t, s.connect(t.Context()))
		deleted, err := kadm.NewClient(s.client).DeleteTopic(t.Context(), testTopic)
		require.NoError(t, errors.Join(err, deleted.Err))
		require.NoError(t, s.send(t.Context(), []byte("key"), []byte("1"), "c"))
		var missing *TopicMissingError
		require.ErrorAs(t, s.flush(t.Context()), &missing)
	})
}
