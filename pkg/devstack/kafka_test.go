package devstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func kafkaClient(t *testing.T, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(brokers...))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// fill makes a topic with one record, and commits a group's offset behind it.
func fill(t *testing.T, brokers []string) {
	t.Helper()
	client := kafkaClient(t, brokers)
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err := admin.CreateTopic(t.Context(), 3, 1, nil, "recon.validate")
	require.NoError(t, err)
	record := &kgo.Record{Topic: "recon.validate", Key: []byte("key"), Value: []byte("41602")}
	require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
	var offsets kadm.Offsets
	offsets.AddOffset(record.Topic, record.Partition, record.Offset+1, -1)
	_, err = admin.CommitOffsets(t.Context(), "group", offsets)
	require.NoError(t, err)
}

// requireFilled finds what fill put there.
func requireFilled(t *testing.T, brokers []string) {
	t.Helper()
	client := kafkaClient(t, brokers, kgo.ConsumeTopics("recon.validate"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	records := client.PollFetches(t.Context()).Records()
	require.Len(t, records, 1)
	require.Equal(t, "41602", string(records[0].Value))
	offsets, err := kadm.NewClient(client).FetchOffsets(t.Context(), "group")
	require.NoError(t, err)
	committed, ok := offsets.Lookup("recon.validate", records[0].Partition)
	require.True(t, ok)
	require.EqualValues(t, 1, committed.At)
}

func TestKafka_KeepsRecordsAndGroupsOverRestarts(t *testing.T) {
	dir := t.TempDir()
	first, err := StartKafka(t.Context(), KafkaOptions{DataDir: dir})
	require.NoError(t, err)
	fill(t, first.Brokers())
	require.NoError(t, first.Close())

	second, err := StartKafka(t.Context(), KafkaOptions{DataDir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Close()) }()

	requireFilled(t, second.Brokers())
}

func TestKafka_MakesNoTopicThatIsOnlyNamed(t *testing.T) {
	client := kafkaClient(t, TestKafka(t).Brokers(), kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(0))

	err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "typo", Value: []byte("x")}).FirstErr()

	require.ErrorIs(t, err, kerr.UnknownTopicOrPartition)
}

func TestKafka_TellsWhatItCouldNotKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kafka")
	kafka, err := StartKafka(t.Context(), KafkaOptions{DataDir: dir})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, []byte("in its way"), 0o600))

	err = kafka.Close()

	require.ErrorContains(t, err, "embedded Kafka: persist to disk")
}

func TestKafka_TellsThatItsPortIsInUse(t *testing.T) {
	port := takePort(t)

	_, err := StartKafka(t.Context(), KafkaOptions{Port: port})

	var inUse *PortInUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, PortInUseError{Service: "Kafka", Port: port}, *inUse)
}
