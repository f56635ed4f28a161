package producer

import (
	"context"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
)

// manifests reads so many manifests back, and makes sure that there are no more.
func (i *installation) manifests(t *testing.T, count int) []Manifest {
	t.Helper()
	decoder, err := NewManifestDecoder(i.registry)
	require.NoError(t, err)
	client, err := kgo.NewClient(kgo.SeedBrokers(i.kafka.Brokers()...), kgo.ConsumeTopics(ManifestTopic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	var list []Manifest
	for quiet := false; !quiet; {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		fetches := client.PollFetches(ctx)
		quiet = fetches.NumRecords() == 0 && ctx.Err() != nil
		cancel()
		fetches.EachRecord(func(r *kgo.Record) {
			m, err := decoder.Decode(t.Context(), r.Value)
			require.NoError(t, err)
			require.Equal(t, m.RunID, string(r.Key), "keyed by the run")
			list = append(list, m)
		})
	}
	require.Len(t, list, count)
	return list
}

func TestDelivery_EndsWithAManifestOfWhatIsAcknowledged(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "planted", "sales_planted.claims.csv")
	began := time.Now().Truncate(time.Millisecond)
	report, err := Delivery{Lines: SalesLines{}, Path: path, Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	m := installation.manifests(t, 1)[0]

	require.Equal(t, settle.Delivery{RunID: report.RunID, Delivery: report.Delivery}, m.Delivery)
	require.Equal(t, ManifestComplete, m.State)
	require.Equal(t, "sales", m.Stream)
	require.Equal(t, "recon.accrue", m.Topic)
	require.EqualValues(t, installation.kafka.Cluster.TopicInfo("recon.accrue").TopicID, m.TopicID)
	require.Equal(t, report.RunID, m.Content)
	require.EqualValues(t, 329, m.Sent)
	require.Equal(t, report.Partitions, m.Partitions)
	require.EqualValues(t, 35, m.Rejected)
	require.WithinRange(t, m.First, began, m.Last)
	require.WithinRange(t, m.Last, m.First, time.Now())

	require.Equal(t, "qualifying_units", m.Quantity)
	want := new(big.Rat)
	for _, envelope := range installation.envelopes(t, 329) {
		units, ok := new(big.Rat).SetString(decimalText(t, envelope.Payload.QualifyingUnits))
		require.True(t, ok)
		want.Add(want, units)
	}
	got, ok := new(big.Rat).SetString(m.ControlSum.String())
	require.True(t, ok)
	require.Zero(t, want.Cmp(got), "the sum of the records is %s, the manifest's %s", want, got)
}

func TestDelivery_OfAnotherNameHasTheSameContent(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	options := installation.options()
	options.RunID = "december"
	path := copied(t, "claims", "carriage_returns", "claims.csv")
	_, err := Delivery{Lines: SalesLines{}, Path: path, Options: options}.Run(t.Context())
	require.NoError(t, err)
	_, err = Delivery{Lines: SalesLines{}, Path: path, Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	both := installation.manifests(t, 2)
	require.NotEqual(t, both[0].RunID, both[1].RunID)
	require.Equal(t, both[0].Content, both[1].Content)
}

func TestDelivery_ThatSendsNothingHasNoManifest(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "planted", "sales_planted.claims.csv")
	for _, delivery := range []Delivery{{Strict: true}, {DryRun: true}} {
		delivery.Lines, delivery.Path, delivery.Options = SalesLines{}, path, installation.options()
		_, err := delivery.Run(t.Context())
		require.NoError(t, err)
	}
	installation.manifests(t, 0)
}

func TestDelivery_InterruptedSaysInItsManifestThatItWas(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Delivery{
		Lines: SalesLines{}, Path: copied(t, "sales", "retail_2010_12.claims.csv.gz"), Options: installation.options(),
		Progress: func(done, total int64) {
			if done > total/2 {
				cancel()
			}
		},
	}.Run(ctx)
	var delivery *DeliveryError
	require.ErrorAs(t, err, &delivery)
	m := installation.manifests(t, 1)[0]
	require.Equal(t, ManifestAborted, m.State)
	require.Equal(t, delivery.Acknowledged, m.Sent)
	require.Empty(t, m.Quantity)
	require.True(t, m.ControlSum.IsZero())
}

func TestDelivery_WhoseManifestIsRefusedIsNotDone(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	refuseManifests(installation.kafka)
	_, err := Delivery{Lines: SalesLines{}, Path: copied(t, "claims", "carriage_returns", "claims.csv"), Options: installation.options()}.Run(t.Context())
	var delivery *DeliveryError
	require.ErrorAs(t, err, &delivery)
	require.ErrorContains(t, err, "the manifest: topic tieout.manifests refuses a record for its size")
	require.Positive(t, delivery.Acknowledged)
	installation.records(t, int(delivery.Acknowledged))
}

// refuseManifests has the broker take everything else.
func refuseManifests(kafka *devstack.Kafka) {
	id := kafka.Cluster.TopicInfo(ManifestTopic).TopicID
	kafka.Cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		kafka.Cluster.KeepControl()
		produce, ok := request.(*kmsg.ProduceRequest)
		if !ok || !slices.ContainsFunc(produce.Topics, func(t kmsg.ProduceRequestTopic) bool { return t.Topic == ManifestTopic || t.TopicID == id }) {
			return nil, nil, false
		}
		response, _ := produce.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range produce.Topics {
			refused := kmsg.ProduceResponseTopic{Topic: topic.Topic, TopicID: topic.TopicID}
			for _, partition := range topic.Partitions {
				answer := kmsg.NewProduceResponseTopicPartition()
				answer.Partition, answer.ErrorCode = partition.Partition, 10 // MESSAGE_TOO_LARGE
				refused.Partitions = append(refused.Partitions, answer)
			}
			response.Topics = append(response.Topics, refused)
		}
		return response, nil, true
	})
}

func TestDelivery_ThatCouldNotBeEndedIsNotBegun(t *testing.T) {
	t.Parallel()
	path := copied(t, "claims", "carriage_returns", "claims.csv")
	kafka := devstack.TestKafka(t, kfake.SeedTopics(6, "recon.accrue"))
	registry := testRegistry(t, devstack.TestRegistry(t).URL())
	_, _, err := registry.Register(t.Context(), "recon.accrue-value", schemas.SalesEnvelope)
	require.NoError(t, err)
	options := Options{Client: []kgo.Opt{kgo.SeedBrokers(kafka.Brokers()...)}, Registry: registry}
	_, err = Delivery{Lines: SalesLines{}, Path: path, Options: options}.Run(t.Context())
	require.EqualError(t, err, "topic tieout.manifests does not exist: run `tieout setup`")

	kafka = devstack.TestKafka(t, kfake.SeedTopics(6, "recon.accrue", ManifestTopic))
	options.Client = []kgo.Opt{kgo.SeedBrokers(kafka.Brokers()...)}
	_, err = Delivery{Lines: SalesLines{}, Path: path, Options: options}.Run(t.Context())
	require.EqualError(t, err, "the registry has no schema for subject tieout.manifests-value, or another one: run `tieout setup`")
}

// sealed encodes a record as a producer would.
func sealed(t require.TestingT, record *manifestRecord, id int) []byte {
	encoder, err := codec.NewEncoder(schemas.Manifest, id)
	require.NoError(t, err)
	value, err := encoder.Append(nil, record)
	require.NoError(t, err)
	return value
}

func TestManifest_ComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	registry := testRegistry(t, devstack.TestRegistry(t).URL())
	id, _, err := registry.Register(t.Context(), "s", schemas.Manifest)
	require.NoError(t, err)
	decoder, err := NewManifestDecoder(registry)
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		m := Manifest{
			Delivery:   settle.Delivery{RunID: rapid.String().Draw(rt, "run"), Delivery: rapid.String().Draw(rt, "delivery")},
			State:      rapid.SampledFrom([]ManifestState{ManifestComplete, ManifestAborted}).Draw(rt, "state"),
			Stream:     rapid.String().Draw(rt, "stream"),
			Topic:      rapid.String().Draw(rt, "topic"),
			TopicID:    settle.TopicID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "id")),
			Content:    rapid.String().Draw(rt, "content"),
			Partitions: rapid.MapOf(rapid.Int32Range(0, 9999), rapid.Int64Range(0, 1<<40)).Draw(rt, "partitions"),
			Rejected:   rapid.Int64().Draw(rt, "rejected"),
			Quantity:   rapid.SampledFrom([]string{"", "mwh"}).Draw(rt, "quantity"),
		}
		for count := range maps.Values(m.Partitions) {
			m.Sent += count
		}
		if m.Sent > 0 {
			m.First = time.UnixMicro(rapid.Int64Range(0, 1<<50).Draw(rt, "first")).UTC()
			m.Last = m.First.Add(time.Hour)
		}
		if m.Quantity != "" {
			m.ControlSum.Add(money.MustParse("-0.000000001"))
		}
		record, err := m.record()
		require.NoError(rt, err)
		got, err := decoder.Decode(t.Context(), sealed(rt, record, id))
		require.NoError(rt, err)
		require.Equal(rt, m, got)
	})
}

func TestManifest_WhatContradictsItselfIsNone(t *testing.T) {
	t.Parallel()
	registry := testRegistry(t, devstack.TestRegistry(t).URL())
	id, _, err := registry.Register(t.Context(), "s", schemas.Manifest)
	require.NoError(t, err)
	decoder, err := NewManifestDecoder(registry)
	require.NoError(t, err)
	good := func() *manifestRecord {
		return &manifestRecord{State: "complete", TopicID: strings.Repeat("A", 22), Sent: 3, Partitions: `{"0":1,"7":2}`}
	}
	_, err = decoder.Decode(t.Context(), sealed(t, good(), id))
	require.NoError(t, err)

	text := func(text string) *string { return &text }
	for name, c := range map[string]struct {
		spoil func(*manifestRecord)
		want  string
	}{
		"partitions that aren't JSON":    {func(r *manifestRecord) { r.Partitions = "0:3" }, "partitions: "},
		"partitions that are a list":     {func(r *manifestRecord) { r.Partitions = "[3]" }, "partitions: "},
		"a partition below 0":            {func(r *manifestRecord) { r.Partitions = `{"-1":3}` }, "partition -1"},
		"a partition that is no number":  {func(r *manifestRecord) { r.Partitions = `{"x":3}` }, "partitions: "},
		"fewer on partitions than sent":  {func(r *manifestRecord) { r.Sent = 4 }, "1 records of 4 sent are on no partition"},
		"more on partitions than sent":   {func(r *manifestRecord) { r.Sent = 2 }, "of 2 sent"},
		"less than none on a partition":  {func(r *manifestRecord) { r.Partitions = `{"0":4,"1":-1}` }, "of 3 sent"},
		"counts that would wrap around":  {func(r *manifestRecord) { r.Partitions = `{"0":9223372036854775807,"1":9223372036854775807}` }, "of 3 sent"},
		"a topic id that is none":        {func(r *manifestRecord) { r.TopicID = "x" }, "topic id"},
		"a sum that is no decimal":       {func(r *manifestRecord) { r.Quantity, r.ControlSum = text("q"), text("NaN") }, "control sum: "},
		"no records and no partitions":   {func(r *manifestRecord) { r.Partitions = "" }, "partitions: "},
		"a sum with an exponent":         {func(r *manifestRecord) { r.Quantity, r.ControlSum = text("q"), text("1e9") }, "control sum: "},
		"null where partitions ought be": {func(r *manifestRecord) { r.Partitions = "null" }, "3 records of 3 sent are on no partition"},
	} {
		record := good()
		c.spoil(record)
		_, err := decoder.Decode(t.Context(), sealed(t, record, id))
		var none *ManifestError
		require.ErrorAs(t, err, &none, name)
		require.ErrorContains(t, err, c.want, name)
	}
	for name, value := range map[string][]byte{
		"nothing": nil, "no wire format": []byte("{}"), "an unknown schema": {0, 0, 0, 99, 0, 1}, "a body cut short": sealed(t, good(), id)[:20],
	} {
		_, err := decoder.Decode(t.Context(), value)
		var none *ManifestError
		require.ErrorAs(t, err, &none, name)
	}
}

func TestManifestDecoder_ARegistryThatIsAwaySaysNothingAboutAManifest(t *testing.T) {
	t.Parallel()
	decoder, err := NewManifestDecoder(testRegistry(t, "http://127.0.0.1:1"))
	require.NoError(t, err)
	_, err = decoder.Decode(t.Context(), []byte{0, 0, 0, 0, 1, 0})
	var away *codec.RegistryError
	require.ErrorAs(t, err, &away)
	var none *ManifestError
	require.NotErrorAs(t, err, &none)
}
