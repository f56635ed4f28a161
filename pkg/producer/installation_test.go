package producer

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/schemas"
)

// An installation is what `tieout setup` leaves for producers: topics with six
// partitions, and subjects.
type installation struct {
	kafka    *devstack.Kafka
	registry *codec.Registry
	schemaID int
}

func startInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{
		kafka: devstack.TestKafka(t, kfake.SeedTopics(6, append(testTopics(), ManifestTopic)...)),
	}
	i.registry = testRegistry(t, devstack.TestRegistry(t).URL())
	for _, topic := range []string{"recon.validate", "recon.accrue"} {
		var err error
		i.schemaID, _, err = i.registry.Register(t.Context(), topic+"-value", schemas.SalesEnvelope)
		require.NoError(t, err)
	}
	_, _, err := i.registry.Register(t.Context(), "etrm.trades-value", schemas.TradeRecord)
	require.NoError(t, err)
	_, _, err = i.registry.Register(t.Context(), ManifestTopic+"-value", schemas.Manifest)
	require.NoError(t, err)
	return i
}

// testTopics are those that producers send to.
func testTopics() []string {
	return []string{"recon.validate", "recon.accrue", "recon.dlq", "etrm.trades"}
}

func testRegistry(t *testing.T, url string) *codec.Registry {
	t.Helper()
	registry, err := codec.NewRegistry(codec.RegistryOptions{URL: url})
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	return registry
}

func (i *installation) options() Options {
	return Options{Client: []kgo.Opt{kgo.SeedBrokers(i.kafka.Brokers()...)}, Registry: i.registry}
}

// A readEnvelope is an envelope as another library reads it.
type readEnvelope struct {
	MessageID         string `avro:"message_id"`
	ReconciliationKey string `avro:"reconciliation_key"`
	CorrelationID     string `avro:"correlation_id"`
	VendorID          string `avro:"vendor_id"`
	ClaimPeriod       string `avro:"claim_period"`
	AgreementVersion  int32  `avro:"agreement_version"`
	QueueTier         string `avro:"queue_tier"`
	Payload           struct {
		StoreID         string    `avro:"store_id"`
		RetailerInvoice string    `avro:"retailer_invoice"`
		LineItemHash    string    `avro:"line_item_hash"`
		PromoTier       string    `avro:"promo_tier"`
		QualifyingUnits any       `avro:"qualifying_units"`
		TierRate        any       `avro:"tier_rate"`
		ClaimedAmount   any       `avro:"claimed_amount"`
		Currency        string    `avro:"currency"`
		TransactionDate time.Time `avro:"transaction_date"`
	} `avro:"payload"`

	record *kgo.Record
}

// envelopes reads so many records back, with a client and an Avro library of
// the test's own, in the order of each partition.
func (i *installation) envelopes(t *testing.T, count int) []readEnvelope {
	t.Helper()
	schema, err := avro.Parse(schemas.SalesEnvelope)
	require.NoError(t, err)
	var envelopes []readEnvelope
	for _, record := range i.records(t, count) {
		require.Zero(t, record.Value[0], "magic")
		require.EqualValues(t, i.schemaID, binary.BigEndian.Uint32(record.Value[1:5]))
		envelope := readEnvelope{record: record}
		rest, err := schema.Decode(record.Value[5:], &envelope)
		require.NoError(t, err)
		require.Empty(t, rest)
		envelopes = append(envelopes, envelope)
	}
	return envelopes
}

// records reads exactly so many records of all topics.
func (i *installation) records(t *testing.T, count int) (records []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(i.kafka.Brokers()...), kgo.ConsumeTopics(testTopics()...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	for len(records) < count {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		fetches := client.PollFetches(ctx)
		cancel()
		require.NoError(t, fetches.Err())
		records = append(records, fetches.Records()...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	records = append(records, client.PollFetches(ctx).Records()...)
	require.Len(t, records, count)
	return records
}

// lineNumber is the number of the line that a correlation id names.
func lineNumber(t *testing.T, report Report, correlationID string) int {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimPrefix(correlationID, report.RunID+":"))
	require.NoError(t, err)
	return number
}

// decimalText is a decimal, as that library has it, without the zeros behind it.
func decimalText(t *testing.T, decimal any) string {
	t.Helper()
	if decimal == nil {
		return "nothing"
	}
	rational, ok := decimal.(interface{ FloatString(digits int) string })
	require.True(t, ok)
	return strings.TrimSuffix(strings.TrimRight(rational.FloatString(9), "0"), ".")
}
