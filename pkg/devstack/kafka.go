package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// KafkaOptions are those of StartKafka; the zero value is a broker in memory
// on a free port.
type KafkaOptions struct {
	// DataDir keeps topics, records and groups over restarts. Empty: in memory.
	DataDir string
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
	// Logger is told of what the broker can't write. Nil: nobody is.
	Logger *slog.Logger
	// Fake are settings beyond these, applied last: tests add security, brokers
	// and faults.
	Fake []kfake.Opt
}

// Validate says what is wrong with the options.
func (o KafkaOptions) Validate() error {
	return validatePort("Kafka", o.Port)
}

// Kafka is a fake cluster in this process.
type Kafka struct {
	Cluster *kfake.Cluster // what tests inject faults by

	brokers []string
	log     *kafkaLog
}

// Settings under which groups form and change in fractions of a second, where
// real clusters wait for latecomers.
const (
	consumerHeartbeat = 200 * time.Millisecond // of the new group protocol; theirs is 5 s
	minGroupSession   = 100 * time.Millisecond // theirs is 6 s
)

// StartKafka starts a cluster of one broker. Topics are never made by merely
// being named, as on clusters that are run with care.
func StartKafka(ctx context.Context, opts KafkaOptions) (*Kafka, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	log := newKafkaLog(opts.Logger)
	settings := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.WithLogger(log),
		kfake.GroupMinSessionTimeout(minGroupSession),
		kfake.BrokerConfigs(map[string]string{
			"group.consumer.heartbeat.interval.ms": strconv.FormatInt(consumerHeartbeat.Milliseconds(), 10),
		}),
		kfake.ListenFn(func(_, address string) (net.Listener, error) {
			return listenOn(ctx, "Kafka", address)
		}),
	}
	if opts.Port != 0 {
		settings = append(settings, kfake.Ports(opts.Port))
	}
	if opts.DataDir != "" {
		settings = append(settings, kfake.DataDir(opts.DataDir))
	}
	cluster, err := kfake.NewCluster(append(settings, opts.Fake...)...)
	if err != nil {
		return nil, err
	}
	return &Kafka{Cluster: cluster, brokers: cluster.ListenAddrs(), log: log}, nil
}

// Brokers returns the addresses to connect to.
func (k *Kafka) Brokers() []string { return k.brokers }

// Close ends the cluster. The error says what of it couldn't be kept.
func (k *Kafka) Close() error {
	k.log.keepErrors()
	k.Cluster.Close()
	return k.log.kept()
}

// kafkaLog passes on what the cluster says, and keeps the errors of its end:
// its Close returns none.
type kafkaLog struct {
	logger *slog.Logger

	mu     sync.Mutex
	keep   bool
	errors []error
}

func newKafkaLog(logger *slog.Logger) *kafkaLog {
	return &kafkaLog{logger: loggerOrNone(logger)}
}

// Logf is the cluster's; its lesser levels are a line for each request.
func (l *kafkaLog) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelWarn:
		l.logger.Warn("embedded Kafka warns", "message", fmt.Sprintf(format, args...))
	case kfake.LogLevelError:
		err := fmt.Errorf("embedded Kafka: "+format, args...)
		l.logger.Error("embedded Kafka failed", "error", err)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.keep {
			l.errors = append(l.errors, err)
		}
	}
}

func (l *kafkaLog) keepErrors() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = true
}

func (l *kafkaLog) kept() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errors...)
}
