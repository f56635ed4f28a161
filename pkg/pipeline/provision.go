package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// ClusterDefault leaves the number of replicas to the cluster.
const ClusterDefault = -1

// ProvisionOptions say which topics there are to be, and how.
type ProvisionOptions struct {
	Topics      []string // with the installation's prefix
	Partitions  int
	Replication int           // or ClusterDefault
	Retention   time.Duration // 0: the cluster's default
	DryRun      bool          // find out what would be done, and do nothing
}

// Validate names the first thing that can't work.
func (o *ProvisionOptions) Validate() error {
	const maxPartitions = 10_000 // beyond it a cluster suffers; more is a slip of the finger
	switch {
	case o.Partitions < 1 || o.Partitions > maxPartitions:
		return fmt.Errorf("partitions: %d is not between 1 and %d", o.Partitions, maxPartitions)
	case o.Replication < 1 && o.Replication != ClusterDefault, o.Replication > 1<<15-1:
		return fmt.Errorf("replication: %d is neither a number of replicas nor %d, the cluster's default", o.Replication, ClusterDefault)
	case o.Retention < 0 || (o.Retention > 0 && o.Retention < time.Minute):
		return fmt.Errorf("retention: %v is less than a minute", o.Retention)
	}
	return nil
}

// A ProvisionedTopic is a topic that is there now, or would be.
type ProvisionedTopic struct {
	Topic       string
	Created     bool // by this call; in a dry run: it's missing
	Partitions  int
	Replication int
	Retention   string // in milliseconds as Kafka has it, -1: for ever; empty where the cluster didn't say
}

// Provision creates the topics that are missing and checks those that aren't.
// It may run many times at once. A topic that is there but not as it has to be
// is a *TopicError, and nothing is created: it isn't changed either, since
// growing a topic moves keys, and other settings have their reasons.
func Provision(ctx context.Context, admin *kadm.Client, options ProvisionOptions) ([]ProvisionedTopic, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	there, err := describeTopics(ctx, admin, options.Topics)
	if err != nil {
		return nil, err
	}
	if err := options.checkDrift(there); err != nil {
		return nil, err
	}
	made, err := options.createMissing(ctx, admin, there)
	if err != nil {
		return nil, err
	}
	result := make([]ProvisionedTopic, 0, len(options.Topics))
	for _, topic := range options.Topics {
		if topic, ok := made[topic]; ok {
			result = append(result, topic)
			continue
		}
		result = append(result, there[topic].ProvisionedTopic)
	}
	return result, nil
}

// createMissing creates what isn't there. Topics that another call has made
// meanwhile are added to those that are there.
func (o *ProvisionOptions) createMissing(ctx context.Context, admin *kadm.Client, there map[string]foundTopic) (map[string]ProvisionedTopic, error) {
	var missing []string
	for _, topic := range o.Topics {
		if _, ok := there[topic]; !ok {
			missing = append(missing, topic)
		}
	}
	create := admin.CreateTopics
	if o.DryRun {
		create = admin.ValidateCreateTopics
	}
	responses, err := create(ctx, int32(o.Partitions), int16(o.Replication), o.configuration(), missing...)
	if err != nil {
		return nil, fmt.Errorf("create topics: %w", err)
	}
	made := make(map[string]ProvisionedTopic, len(missing))
	var raced []string
	for _, topic := range missing {
		response := responses[topic]
		switch {
		case errors.Is(response.Err, kerr.TopicAlreadyExists):
			raced = append(raced, topic)
		case response.Err != nil:
			return nil, o.explainRefusal(response)
		default:
			made[topic] = o.provisioned(response)
		}
	}
	return made, o.awaitRaced(ctx, admin, raced, there)
}

// awaitRaced waits until the topics that another call created can be seen, and
// checks them as if they'd been there before.
func (o *ProvisionOptions) awaitRaced(ctx context.Context, admin *kadm.Client, raced []string, there map[string]foundTopic) error {
	// Longer than the client remembers that a topic had no metadata.
	const tries, pause = 100, 100 * time.Millisecond
	for range tries {
		if len(raced) == 0 {
			return nil
		}
		found, err := describeTopics(ctx, admin, raced)
		if err != nil {
			return err
		}
		if len(found) == len(raced) {
			for topic, f := range found {
				there[topic] = f
			}
			return o.checkDrift(found)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return fmt.Errorf("create topics: the cluster says that %s exists, and doesn't show it", raced[0])
}

// configuration is what a new topic gets. Compaction would lose records before
// they're settled; and with three replicas and more, what is acknowledged has
// to be on two, else it can be lost with one.
func (o *ProvisionOptions) configuration() map[string]*string {
	configuration := map[string]*string{"cleanup.policy": kadm.StringPtr("delete")}
	if o.Retention > 0 {
		configuration["retention.ms"] = kadm.StringPtr(o.retentionMillis())
	}
	if o.Replication >= 3 {
		configuration["min.insync.replicas"] = kadm.StringPtr("2")
	}
	return configuration
}

func (o *ProvisionOptions) retentionMillis() string {
	return strconv.FormatInt(o.Retention.Milliseconds(), 10)
}

func (o *ProvisionOptions) explainRefusal(response kadm.CreateTopicResponse) error {
	if errors.Is(response.Err, kerr.InvalidReplicationFactor) {
		return fmt.Errorf("create topic %s: the cluster can't keep %d replicas: give a smaller --replication: %w",
			response.Topic, o.Replication, response.Err)
	}
	if response.ErrMessage != "" {
		return fmt.Errorf("create topic %s: %w: %s", response.Topic, response.Err, response.ErrMessage)
	}
	return fmt.Errorf("create topic %s: %w", response.Topic, response.Err)
}

func (o *ProvisionOptions) provisioned(response kadm.CreateTopicResponse) ProvisionedTopic {
	topic := ProvisionedTopic{Topic: response.Topic, Created: true, Partitions: o.Partitions, Replication: o.Replication}
	if response.ReplicationFactor > 0 {
		topic.Replication = int(response.ReplicationFactor)
	}
	if retention := response.Configs["retention.ms"].Value; retention != nil {
		topic.Retention = *retention
	}
	return topic
}

// checkDrift refuses topics that are there but not as they have to be; it names
// all of them.
func (o *ProvisionOptions) checkDrift(there map[string]foundTopic) error {
	var drift []error
	for _, topic := range o.Topics {
		f, ok := there[topic]
		if !ok {
			continue
		}
		if problem := o.problem(f); problem != "" {
			drift = append(drift, &TopicError{topic, problem})
		}
	}
	return errors.Join(drift...)
}

func (o *ProvisionOptions) problem(f foundTopic) string {
	switch {
	case f.cleanup != "" && f.cleanup != "delete":
		return fmt.Sprintf("its cleanup.policy is %q, which loses records; set it to delete", f.cleanup)
	case f.Partitions < o.Partitions:
		return fmt.Sprintf("it has %d partitions, not %d, and setup doesn't grow topics: give --partitions %d to keep it so", f.Partitions, o.Partitions, f.Partitions)
	case f.Replication < o.Replication:
		return fmt.Sprintf("it has %d replicas, not %d: reassign its partitions, or give --replication %d to keep it so", f.Replication, o.Replication, f.Replication)
	case o.Retention > 0 && f.Retention != "" && f.Retention != o.retentionMillis():
		return fmt.Sprintf("its retention.ms is %s, not %s: change it there, or leave --retention out to keep it so", f.Retention, o.retentionMillis())
	}
	return ""
}

// A foundTopic is a topic as the cluster describes it.
type foundTopic struct {
	ProvisionedTopic
	cleanup string
}

// describeTopics returns those of the topics that there are. Their
// configuration is asked for first: the client remembers for seconds that a
// topic had no metadata, which is too long for one that another call is making.
func describeTopics(ctx context.Context, admin *kadm.Client, topics []string) (map[string]foundTopic, error) {
	found := make(map[string]foundTopic, len(topics))
	if len(topics) == 0 {
		return found, nil
	}
	configs, err := admin.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	names := make([]string, 0, len(topics))
	for _, config := range configs {
		switch {
		case errors.Is(config.Err, kerr.UnknownTopicOrPartition):
		case config.Err != nil:
			return nil, fmt.Errorf("describe topic %s: %w", config.Name, config.Err)
		default:
			names = append(names, config.Name)
			found[config.Name] = foundTopic{
				ProvisionedTopic: ProvisionedTopic{Topic: config.Name, Retention: configValue(config, "retention.ms")},
				cleanup:          configValue(config, "cleanup.policy"),
			}
		}
	}
	return found, countPartitions(ctx, admin, names, found)
}

// countPartitions adds the topics' numbers of partitions and replicas.
func countPartitions(ctx context.Context, admin *kadm.Client, topics []string, found map[string]foundTopic) error {
	if len(topics) == 0 {
		return nil
	}
	details, err := admin.ListTopics(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, topic := range topics {
		detail := details[topic]
		switch {
		case errors.Is(detail.Err, kerr.UnknownTopicOrPartition):
			delete(found, topic) // not all brokers know it yet
		case detail.Err != nil:
			return fmt.Errorf("list topic %s: %w", topic, detail.Err)
		default:
			f := found[topic]
			f.Partitions, f.Replication = len(detail.Partitions), detail.Partitions.NumReplicas()
			found[topic] = f
		}
	}
	return nil
}
