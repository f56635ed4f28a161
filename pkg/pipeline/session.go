package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A session is one life of the Kafka client: a member of the group with a
// transactional id. What it knows is thrown away whole when the end of a
// transaction is unknown.
type session struct {
	kafka *kgo.GroupTransactSession
	// opened is closed once kafka is set: the group may assign before that.
	opened chan struct{}

	mu      sync.Mutex
	revoked bool // since the last End; a hint, never a proof
}

// callbacks are what a session tells its worker. They run in the client's own
// goroutine and must not end, close or leave.
type callbacks struct {
	assigned func(context.Context, map[int32]kgo.Offset)
	revoked  func(context.Context, []int32)
	lost     func([]int32)
}

func openSession(o *Options, budget *fetchBudget, maxMessageBytes int32, call callbacks) (*session, error) {
	s := &session{opened: make(chan struct{})}
	topic := o.Topic()
	opts := append([]kgo.Opt{}, o.Client...)
	opts = append(opts,
		kgo.ConsumerGroup(o.Group()),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(o.MaxFetchBytes),
		kgo.FetchMaxPartitionBytes(o.MaxPartitionFetchBytes),
		kgo.WithDecompressor(budget),
		kgo.FetchMaxWait(250*time.Millisecond),
		kgo.MaxConcurrentFetches(2),
		kgo.KeepRetryableFetchErrors(),
		kgo.SessionTimeout(o.SessionTimeout),
		kgo.RebalanceTimeout(o.RebalanceTimeout),
		kgo.HeartbeatInterval(o.SessionTimeout/5),
		kgo.BlockRebalanceOnPoll(),
		kgo.TransactionalID(o.transactionalID()),
		kgo.TransactionTimeout(o.TransactionTimeout),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(maxMessageBytes),
		kgo.ProducerLinger(0),
		kgo.RecordDeliveryTimeout(o.TransactionTimeout),
		kgo.MaxBufferedRecords(o.MaxPollRecords+o.MaxPollRecords/2),
		kgo.AdjustFetchOffsetsFn(func(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			return s.assign(ctx, topic, offsets, call.assigned), nil
		}),
		// Registered so that the assign phase, too, waits for AllowRebalance.
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, m map[string][]int32) {
			s.noteRevoked(len(m[topic]) > 0)
			call.revoked(ctx, m[topic])
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			s.noteRevoked(true)
			call.lost(m[topic])
		}),
	)
	kafka, err := kgo.NewGroupTransactSession(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka client for %s: %w", o.Lane.Name, err)
	}
	s.kafka = kafka
	close(s.opened)
	return s, nil
}

func (s *session) client() *kgo.Client { return s.kafka.Client() }

// assign notes the group's offsets and keeps the partitions from being fetched
// until step 1 has said where to begin: they are paused, and SetOffsets follows.
// What the client is told meanwhile is no commit's offset, so that it has
// nothing of its own to commit or to go back to.
func (s *session) assign(ctx context.Context, topic string, offsets map[string]map[int32]kgo.Offset, assigned func(context.Context, map[int32]kgo.Offset)) map[string]map[int32]kgo.Offset {
	mine := offsets[topic]
	if len(mine) == 0 {
		return offsets
	}
	<-s.opened
	held := make(map[int32]kgo.Offset, len(mine))
	ids := make([]int32, 0, len(mine))
	for id := range mine {
		held[id] = kgo.NewOffset().AtStart()
		ids = append(ids, id)
	}
	s.pause(topic, ids...)
	assigned(ctx, mine)
	return map[string]map[int32]kgo.Offset{topic: held}
}

func (s *session) pause(topic string, ids ...int32) {
	if len(ids) == 0 {
		return // with none named, the client would only list what is paused
	}
	s.client().PauseFetchPartitions(map[string][]int32{topic: ids})
}

func (s *session) resume(topic string, ids ...int32) {
	if len(ids) > 0 {
		s.client().ResumeFetchPartitions(map[string][]int32{topic: ids})
	}
}

// holds returns the partitions that the client consumes for the group. A revoke
// may never have reached a callback (the client swallows a second one before
// an End), but it always takes the partition out of these offsets: one that was
// sought or committed is among them exactly as long as it's assigned.
func (s *session) holds(topic string) map[int32]bool {
	held := map[int32]bool{}
	for _, offsets := range []map[string]map[int32]kgo.EpochOffset{s.client().UncommittedOffsets(), s.client().CommittedOffsets()} {
		for id := range offsets[topic] {
			held[id] = true
		}
	}
	return held
}

// seek says where fetching goes on; only between a poll and AllowRebalance.
func (s *session) seek(topic string, id int32, offset int64, epoch int32) {
	s.client().SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {id: {Offset: offset, Epoch: epoch}}})
}

func (s *session) noteRevoked(revoked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = s.revoked || revoked
}

// takeRevoked reads the hint and clears it, as End does in the client.
func (s *session) takeRevoked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	revoked := s.revoked
	s.revoked = false
	return revoked
}

// commitOffset is one partition's offset in a transaction: the offset to go on
// from, and the leader epoch of the record before it.
type commitOffset struct {
	partition int32
	offset    int64
	epoch     int32
}

// An ending is how a transaction ended, as far as it is known.
type ending int

const (
	endCommitted ending = iota // (true, nil): its outcomes can be read
	endAborted                 // for certain: the client is back at the committed offsets
	endUntold                  // (false, nil), and no revoke says why: the group's offsets tell
)

// transact publishes outcomes and exactly these offsets in one transaction. The
// offsets are a list that was built by the caller, not what the client
// polled: a partition whose batch failed must not be committed. Any error is an
// unknown end, and the session is to be given up.
func (s *session) transact(ctx context.Context, topic string, topicID [16]byte, outcomes []*kgo.Record, offsets []commitOffset) (ending, error) {
	if err := s.kafka.Begin(); err != nil {
		return 0, fmt.Errorf("begin transaction: %w", err)
	}
	var refused firstError
	for _, record := range outcomes {
		s.kafka.Produce(ctx, record, func(_ *kgo.Record, err error) { refused.set(err) })
	}
	if err := s.client().Flush(ctx); err != nil {
		return 0, fmt.Errorf("flush outcomes: %w", err)
	}
	if err := refused.get(); err != nil {
		_, abortErr := s.kafka.End(ctx, kgo.TryAbort)
		return 0, errors.Join(fmt.Errorf("produce outcome: %w", err), abortErr)
	}
	ctx = kgo.PreTxnCommitFnContext(ctx, func(req *kmsg.TxnOffsetCommitRequest) error {
		req.Topics = []kmsg.TxnOffsetCommitRequestTopic{offsetsTopic(topic, topicID, offsets)}
		return nil
	})
	committed, err := s.kafka.End(ctx, kgo.TryCommit)
	revoked := s.takeRevoked()
	switch {
	case committed && err == nil:
		return endCommitted, nil
	case err == nil && revoked:
		return endAborted, nil
	case err == nil:
		return endUntold, nil
	default:
		return 0, fmt.Errorf("end transaction: %w", err)
	}
}

func offsetsTopic(topic string, topicID [16]byte, offsets []commitOffset) kmsg.TxnOffsetCommitRequestTopic {
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, topicID
	for _, o := range offsets {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = o.partition, o.offset, o.epoch
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// leaveTimeout bounds what a broker that is away can hold a closing session
// up: its session time-out will tell the group anyway.
const leaveTimeout = 2 * time.Second

// close leaves the group and ends the client.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	s.kafka.AllowRebalance()
	// An error says that the broker couldn't be told, which its time-out mends.
	_ = s.client().LeaveGroupContext(ctx)
	s.kafka.CloseAllowingRebalance()
}

// fencedByName tells whether the broker gave our transactional id to a younger
// producer. It may say so outright, or by having ended a transaction that had
// not yet had its time: nobody else can.
func fencedByName(err error, took, timeout time.Duration) bool {
	ended := errors.Is(err, kerr.InvalidTxnState) || errors.Is(err, kerr.InvalidProducerEpoch)
	return errors.Is(err, kerr.ProducerFenced) || ended && took < timeout/2
}

// firstError keeps the first error that promises bring, from any goroutine.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
