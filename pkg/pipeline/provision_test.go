package pipeline

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func provisionAdmin(t *testing.T) *kadm.Client {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func provisionOptions(topics ...string) ProvisionOptions {
	return ProvisionOptions{Topics: topics, Partitions: 6, Replication: 1}
}

func TestProvision_CreatesWhatIsMissingOnce(t *testing.T) {
	admin := provisionAdmin(t)
	options := provisionOptions("recon.validate", "recon.dlq")
	options.Retention = 48 * time.Hour

	first, err := Provision(t.Context(), admin, options)
	require.NoError(t, err)
	require.Len(t, first, 2)
	require.Equal(t, "recon.validate", first[0].Topic)
	require.True(t, first[0].Created)
	require.Equal(t, 6, first[0].Partitions)
	require.Equal(t, 1, first[0].Replication)

	second, err := Provision(t.Context(), admin, options)
	require.NoError(t, err)
	require.False(t, second[0].Created)
	require.Equal(t, ProvisionedTopic{Topic: "recon.dlq", Partitions: 6, Replication: 1, Retention: "172800000"}, second[1])

	found, err := describeTopics(t.Context(), admin, options.Topics)
	require.NoError(t, err)
	require.Equal(t, "delete", found["recon.validate"].cleanup)
}

func TestProvision_DryRunCreatesNothing(t *testing.T) {
	admin := provisionAdmin(t)
	options := provisionOptions("recon.validate")
	options.DryRun = true

	topics, err := Provision(t.Context(), admin, options)
	require.NoError(t, err)
	require.True(t, topics[0].Created)
	found, err := describeTopics(t.Context(), admin, options.Topics)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestProvision_TenAtOnceMakeOneOfEach(t *testing.T) {
	admin := provisionAdmin(t)
	options := provisionOptions("recon.validate", "recon.accrue", "recon.autopost", "recon.dispute", "recon.dlq")

	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		created = map[string]int{}
		errs    []error
	)
	for range 10 {
		group.Go(func() {
			topics, err := Provision(t.Context(), admin, options)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			for _, topic := range topics {
				if topic.Created {
					created[topic.Topic]++
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for _, topic := range options.Topics {
		require.Equal(t, 1, created[topic], topic)
	}
}

func TestProvision_NamesEachTopicThatIsNotAsItHasToBe(t *testing.T) {
	admin := provisionAdmin(t)
	for topic, configuration := range map[string]map[string]*string{
		"small":     {},
		"compacted": {"cleanup.policy": kadm.StringPtr("compact,delete")},
		"short":     {"retention.ms": kadm.StringPtr("3600000")},
	} {
		_, err := admin.CreateTopic(t.Context(), 3, 1, configuration, topic)
		require.NoError(t, err)
	}

	for name, c := range map[string]struct {
		topics []string
		adjust func(*ProvisionOptions)
		want   string
	}{
		"fewer partitions": {
			[]string{"small", "new"},
			func(*ProvisionOptions) {},
			"topic small: it has 3 partitions, not 6, and setup doesn't grow topics: give --partitions 3 to keep it so",
		},
		"compaction": {
			[]string{"compacted"},
			func(o *ProvisionOptions) { o.Partitions = 3 },
			`topic compacted: its cleanup.policy is "compact,delete", which loses records; set it to delete`,
		},
		"fewer replicas": {
			[]string{"small"},
			func(o *ProvisionOptions) { o.Partitions, o.Replication = 3, 3 },
			"topic small: it has 1 replicas, not 3: reassign its partitions, or give --replication 1 to keep it so",
		},
		"other retention": {
			[]string{"short"},
			func(o *ProvisionOptions) { o.Partitions, o.Retention = 3, 48*time.Hour },
			"topic short: its retention.ms is 3600000, not 172800000: change it there, or leave --retention out to keep it so",
		},
		"two at once": {
			[]string{"small", "compacted"},
			func(*ProvisionOptions) {},
			"topic small: it has 3 partitions, not 6, and setup doesn't grow topics: give --partitions 3 to keep it so\n" +
				`topic compacted: its cleanup.policy is "compact,delete", which loses records; set it to delete`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := provisionOptions(c.topics...)
			c.adjust(&options)
			_, err := Provision(t.Context(), admin, options)
			var topicError *TopicError
			require.ErrorAs(t, err, &topicError)
			require.EqualError(t, err, c.want)
		})
	}
	found, err := describeTopics(t.Context(), admin, []string{"new"})
	require.NoError(t, err)
	require.Empty(t, found, "a topic was created although another is not as it has to be")
}

func TestProvision_KeepsTopicsThatHaveMoreThanAskedFor(t *testing.T) {
	admin := provisionAdmin(t)
	_, err := admin.CreateTopic(t.Context(), 12, 1, nil, "grown")
	require.NoError(t, err)
	topics, err := Provision(t.Context(), admin, provisionOptions("grown"))
	require.NoError(t, err)
	require.Equal(t, 12, topics[0].Partitions)
}

func TestProvision_ThreeReplicasAcknowledgeOnTwo(t *testing.T) {
	options := provisionOptions("recon.validate")
	options.Replication = 3
	require.Equal(t, "2", *options.configuration()["min.insync.replicas"])
	options.Replication = ClusterDefault
	require.NotContains(t, options.configuration(), "min.insync.replicas")
}

func TestProvision_RefusesNumbersThatCanNotBeMeant(t *testing.T) {
	admin := provisionAdmin(t)
	for want, adjust := range map[string]func(*ProvisionOptions){
		"partitions: 0 is not":  func(o *ProvisionOptions) { o.Partitions = 0 },
		"replication: 0 is":     func(o *ProvisionOptions) { o.Replication = 0 },
		"replication: -2 is":    func(o *ProvisionOptions) { o.Replication = -2 },
		"retention: -1s is":     func(o *ProvisionOptions) { o.Retention = -time.Second },
		"retention: 10ms is":    func(o *ProvisionOptions) { o.Retention = 10 * time.Millisecond },
		"partitions: 2000000 i": func(o *ProvisionOptions) { o.Partitions = 2_000_000 },
	} {
		options := provisionOptions("recon.validate")
		adjust(&options)
		_, err := Provision(t.Context(), admin, options)
		require.ErrorContains(t, err, want)
	}
}

func TestProvision_EndsWhenItIsCancelled(t *testing.T) {
	admin := provisionAdmin(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Provision(ctx, admin, provisionOptions("recon.validate"))
	require.ErrorIs(t, err, context.Canceled)
}
