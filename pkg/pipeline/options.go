package pipeline

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// Options say what one worker settles, with what, and within which bounds.
type Options struct {
	Lane        settle.Lane
	TopicPrefix string
	GroupPrefix string

	// Instance names the worker: the transactional id is group and instance.
	// Two workers of one name fence each other, which is what lets a restart
	// take over from its predecessor at once.
	Instance string
	// InstanceIsOwn says that nobody else can bear the name (it was drawn at
	// random), so that being fenced is a time-out and not a namesake.
	InstanceIsOwn bool

	Client   []kgo.Opt // seeds, TLS, SASL
	Ledger   *ledger.Ledger
	Decoders *codec.Decoders
	// Encoders has the outcome encoder of each topic, without prefix.
	Encoders map[string]*codec.Encoder

	// Drain ends Run when nothing is left to settle on the lane's topic.
	Drain bool

	Logger  *slog.Logger
	Metrics Metrics
	Tracer  trace.Tracer

	// MaxPollRecords bounds one batch over all partitions. 20,000 amortise a
	// Kafka transaction and a Postgres commit without holding a rebalance up
	// for more than about a second.
	MaxPollRecords int
	// MaxPollBytes bounds the keys, values and headers of one batch, by the size
	// of those that wait; one record may be larger.
	MaxPollBytes int
	// MaxFetchBytes bounds what one fetch of a broker brings, compressed;
	// MaxPartitionFetchBytes the same of one partition.
	MaxFetchBytes          int32
	MaxPartitionFetchBytes int32
	// MaxDecompressBytes bounds a batch of the broker's once it is decompressed:
	// one that is larger halts its partition. MaxFetchedBytes bounds what is
	// decompressed between two polls.
	MaxDecompressBytes int
	MaxFetchedBytes    int64
	// MaxRecordBytes is the largest value that is decoded; a larger one is a
	// dead letter, kept whole.
	MaxRecordBytes int
	// Parallelism is how many partitions settle and commit at a time. It needs
	// as many connections.
	Parallelism int

	SessionTimeout     time.Duration
	RebalanceTimeout   time.Duration
	TransactionTimeout time.Duration
	// CommitTimeout bounds one batch in Postgres with its retries.
	CommitTimeout time.Duration
	// StopTimeout bounds what is done after a stop was asked for.
	StopTimeout time.Duration
	// UnknownSchemaWait is how long a schema id that the registry answers with
	// 404 is asked for before its records are dead letters.
	UnknownSchemaWait time.Duration
	// RetryBase and RetryMax bound the back-off of a partition whose
	// dependency is away.
	RetryBase, RetryMax time.Duration
	// HaltRecheck is how often a halted partition's row is looked at.
	HaltRecheck time.Duration
	// FloorIdle is how long a partition publishes nothing before its floor is
	// written by itself.
	FloorIdle time.Duration
	// PollWait bounds a poll that finds nothing.
	PollWait time.Duration
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	setInt := func(into *int, value int) {
		if *into == 0 {
			*into = value
		}
	}
	setBytes := func(into *int32, value int32) {
		if *into == 0 {
			*into = value
		}
	}
	setDuration := func(into *time.Duration, value time.Duration) {
		if *into == 0 {
			*into = value
		}
	}
	setInt(&o.MaxPollRecords, 20_000)
	setInt(&o.MaxPollBytes, 8<<20)
	setInt(&o.MaxRecordBytes, 1<<20)
	setInt(&o.Parallelism, 4)
	setBytes(&o.MaxFetchBytes, 8<<20)
	setBytes(&o.MaxPartitionFetchBytes, 1<<20)
	setInt(&o.MaxDecompressBytes, 64<<20)
	if o.MaxFetchedBytes == 0 {
		o.MaxFetchedBytes = 32 << 20
	}
	setDuration(&o.SessionTimeout, 10*time.Second)
	setDuration(&o.RebalanceTimeout, 30*time.Second)
	setDuration(&o.TransactionTimeout, 10*time.Second)
	setDuration(&o.CommitTimeout, 20*time.Second)
	setDuration(&o.StopTimeout, 5*time.Second)
	setDuration(&o.UnknownSchemaWait, 10*time.Second)
	setDuration(&o.RetryBase, 100*time.Millisecond)
	setDuration(&o.RetryMax, 5*time.Second)
	setDuration(&o.HaltRecheck, 2*time.Second)
	setDuration(&o.FloorIdle, time.Second)
	setDuration(&o.PollWait, 250*time.Millisecond)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Tracer == nil {
		o.Tracer = tracenoop.NewTracerProvider().Tracer("")
	}
	return o
}

// Validate names the first thing that can't work.
func (o *Options) Validate() error {
	switch {
	case o.Lane.Stream == nil || o.Lane.Topic == "":
		return errors.New("pipeline: a lane needs a topic and a stream")
	case o.Instance == "":
		return errors.New("pipeline: a worker needs an instance name")
	case o.Ledger == nil:
		return errors.New("pipeline: a worker needs a ledger")
	case o.Decoders == nil:
		return errors.New("pipeline: a worker needs decoders")
	case o.MaxPollRecords < 1 || o.MaxRecordBytes < 1 || o.Parallelism < 1:
		return errors.New("pipeline: records a poll, bytes a record and parallelism are at least 1")
	case o.CommitTimeout >= o.RebalanceTimeout:
		// Else a member is expelled while it waits for its own commit.
		return fmt.Errorf("pipeline: commit time-out %v is not below the rebalance time-out %v", o.CommitTimeout, o.RebalanceTimeout)
	}
	for _, topic := range []string{o.Lane.Topics.AutoPost, o.Lane.Topics.Dispute} {
		if topic != "" && o.Encoders[topic] == nil {
			return fmt.Errorf("pipeline: no encoder for outcome topic %q", topic)
		}
	}
	return nil
}

// Group is the consumer group of the lane.
func (o *Options) Group() string { return o.GroupPrefix + o.Lane.Topic }

// Topic is the lane's topic as the cluster knows it.
func (o *Options) Topic() string { return o.TopicPrefix + o.Lane.Topic }

// transactionalID is one a lane and worker.
func (o *Options) transactionalID() string { return o.Group() + "-" + o.Instance }
