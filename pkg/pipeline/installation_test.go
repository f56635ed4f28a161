package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
	"github.com/tieout/tieout/streams"
	"github.com/tieout/tieout/streams/sales"
)

// An installation is a broker, a registry and a database of a test's own, set
// up, with the lane validate.
type installation struct {
	t        *testing.T
	cluster  *kfake.Cluster
	registry *srfake.Registry
	brokers  []string
	url      string // of the database
	schema   string
	lane     settle.Lane
	client   *kgo.Client // the test's own: produces, and asks
	admin    *kadm.Client
	envelope *codec.Encoder
	encoders map[string]*codec.Encoder

	outcomeDecoder settle.Decoder
}

const testPartitions = 3

func newInstallation(t *testing.T, opts ...kfake.Opt) *installation {
	t.Helper()
	in := &installation{t: t, url: devstack.TestDatabase(t), schema: devstack.TestSchema(t), lane: streams.Lanes()[0]}
	var err error
	in.cluster, err = kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(1),
		kfake.SeedTopics(testPartitions, append(in.lane.Topics.All(), in.lane.Topic)...),
		kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"}),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(in.cluster.Close)
	in.brokers = in.cluster.ListenAddrs()
	in.client, err = kgo.NewClient(kgo.SeedBrokers(in.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(in.client.Close)
	in.admin = kadm.NewClient(in.client)
	in.registry = srfake.New()
	t.Cleanup(in.registry.Close)

	_, err = ledger.Migrate(t.Context(), ledger.MigrateOptions{
		URL: in.url, Schema: in.schema, OwnerRole: in.schema + "_owner", WorkerRole: in.schema + "_worker",
	})
	require.NoError(t, err)
	in.register()
	return in
}

func (in *installation) register() {
	in.t.Helper()
	registry := in.codecRegistry()
	in.envelope = in.encoder(registry, in.lane.Topic, schemas.SalesEnvelope)
	in.encoders = map[string]*codec.Encoder{}
	for _, topic := range []string{in.lane.Topics.AutoPost, in.lane.Topics.Dispute} {
		in.encoders[topic] = in.encoder(registry, topic, schemas.Outcome)
	}
}

func (in *installation) codecRegistry() *codec.Registry {
	registry, err := codec.NewRegistry(codec.RegistryOptions{URL: in.registry.URL()})
	require.NoError(in.t, err)
	return registry
}

func (in *installation) encoder(registry *codec.Registry, topic, schema string) *codec.Encoder {
	id, _, err := registry.Register(in.t.Context(), topic+"-value", schema)
	require.NoError(in.t, err)
	encoder, err := codec.NewEncoder(schema, id)
	require.NoError(in.t, err)
	return encoder
}

// options are a worker's, with waits that suit a test.
func (in *installation) options(change ...func(*Options)) Options {
	in.t.Helper()
	reader, err := codec.NewReader(schemas.SalesEnvelope, sales.Envelope{}, codec.ReaderOptions{})
	require.NoError(in.t, err)
	o := Options{
		Lane: in.lane, Instance: strings.ToLower(ulid.Make().String()), InstanceIsOwn: true,
		Client:            []kgo.Opt{kgo.SeedBrokers(in.brokers...)},
		Decoders:          codec.NewDecoders(in.codecRegistry(), reader),
		Encoders:          in.encoders,
		Drain:             true,
		Logger:            slog.New(slog.NewTextHandler(testLog{in.t}, &slog.HandlerOptions{Level: testLevel()})),
		UnknownSchemaWait: 50 * time.Millisecond,
		HaltRecheck:       50 * time.Millisecond,
		FloorIdle:         50 * time.Millisecond,
		PollWait:          50 * time.Millisecond,
	}
	for _, c := range change {
		c(&o)
	}
	if o.Ledger == nil {
		o.Ledger = in.openLedger(in.url)
	}
	return o
}

func (in *installation) openLedger(url string) *ledger.Ledger {
	in.t.Helper()
	l, err := ledger.Open(in.t.Context(), ledger.Options{
		URL: url, Schema: in.schema, Role: in.schema + "_worker",
		ConsumerGroup: in.lane.Topic, Table: in.lane.Stream.Table(), Stream: in.lane.Stream.Name(),
	})
	require.NoError(in.t, err)
	in.t.Cleanup(l.Close)
	require.NoError(in.t, l.RegisterRules(in.t.Context(), ledger.Rules{BinaryVersion: "test"}))
	return l
}

// drain runs one worker until nothing is left.
func (in *installation) drain(change ...func(*Options)) {
	in.t.Helper()
	require.NoError(in.t, in.tryDrain(change...))
}

func (in *installation) tryDrain(change ...func(*Options)) error {
	in.t.Helper()
	w, err := New(in.options(change...))
	require.NoError(in.t, err)
	defer w.Close()
	ctx, cancel := context.WithTimeout(in.t.Context(), 30*time.Second)
	defer cancel()
	if err := w.Run(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// start runs a worker beside the test; stop ends it and returns its error.
func (in *installation) start(change ...func(*Options)) (w *Worker, stop func() error) {
	in.t.Helper()
	w, err := New(in.options(append([]func(*Options){func(o *Options) { o.Drain = false }}, change...)...))
	require.NoError(in.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		err := <-done
		w.Close()
		return err
	}
	in.t.Cleanup(func() { _ = stop() })
	return w, stop
}

// A claim is one line of a test's input.
type claim struct {
	invoice   string
	units     string
	rate      string
	claimed   string
	version   int32
	partition int32
	headers   []kgo.RecordHeader
}

// produce enqueues claims and returns their offsets.
func (in *installation) produce(claims ...claim) []int64 {
	in.t.Helper()
	records := make([]*kgo.Record, len(claims))
	for i, c := range claims {
		records[i] = in.record(c)
	}
	return in.send(records...)
}

func (in *installation) send(records ...*kgo.Record) []int64 {
	in.t.Helper()
	offsets := make([]int64, len(records))
	for i, r := range records {
		if r.Topic == "" {
			r.Topic = in.lane.Topic
		}
		require.NoError(in.t, in.client.ProduceSync(in.t.Context(), r).FirstErr())
		offsets[i] = r.Offset
	}
	return offsets
}

func (in *installation) record(c claim) *kgo.Record {
	in.t.Helper()
	e := in.envelopeOf(c)
	value, err := in.envelope.Append(nil, &e)
	require.NoError(in.t, err)
	return &kgo.Record{
		Topic: in.lane.Topic, Partition: c.partition, Key: []byte(e.ReconciliationKey), Value: value,
		Headers: append([]kgo.RecordHeader{
			{Key: settle.HeaderRunID, Value: []byte("run-1")},
			{Key: settle.HeaderDelivery, Value: []byte("delivery-1")},
		}, c.headers...),
	}
}

func (in *installation) envelopeOf(c claim) sales.Envelope {
	in.t.Helper()
	const lineItem, tier, period = "2a50e22e39fb3ef2015642c9cede29e4", "GOLD", "2010-Q4"
	key, err := reconkey.Sales(c.invoice, lineItem, tier, period)
	require.NoError(in.t, err)
	if c.version == 0 {
		c.version = 1
	}
	if c.units == "" {
		c.units = "2"
	}
	if c.rate == "" {
		c.rate = "1.25"
	}
	e := sales.Envelope{
		MessageID: ulid.Make().String(), ReconciliationKey: key.Hex(), CorrelationID: "c-" + c.invoice,
		VendorID: "V001", ClaimPeriod: period, AgreementVersion: c.version, QueueTier: "fast_path",
		Payload: sales.Payload{
			StoreID: "S", RetailerInvoice: c.invoice, LineItemHash: lineItem, PromoTier: tier, Currency: "GBP",
			QualifyingUnits: in.unscaled(c.units), TierRate: in.unscaled(c.rate),
		},
	}
	if c.claimed != "" {
		e.Payload.ClaimedAmount = in.unscaled(c.claimed)
	}
	return e
}

func (in *installation) unscaled(text string) []byte {
	in.t.Helper()
	bytes, err := money.MustParse(text).AppendUnscaled(nil, 9)
	require.NoError(in.t, err)
	return bytes
}

// An outcome is what a reader of the topics finds.
type outcome struct {
	Topic  string
	Source string // partition/offset
	Reason string // of a dead letter
	Amount string
}

// outcomes reads the outcome topics as any other reader would, committed
// records only, in order within each source partition.
func (in *installation) outcomes() []outcome {
	in.t.Helper()
	var found []outcome
	for _, r := range in.read(in.lane.Topics.All()...) {
		o := outcome{Topic: r.Topic, Reason: header(r, settle.HeaderErrorReason)}
		at, err := settle.ParseCoordinates(header(r, settle.HeaderSource))
		require.NoError(in.t, err)
		o.Source = fmt.Sprintf("%d/%d", at.Partition, at.Offset)
		if o.Reason == "" && len(r.Value) > 0 {
			o.Amount = in.decodeAmount(r.Value)
		}
		found = append(found, o)
	}
	return found
}

func (in *installation) decodeAmount(value []byte) string {
	in.t.Helper()
	id, body, err := codec.SplitWire(value)
	require.NoError(in.t, err)
	if in.outcomeDecoder == nil {
		reader, err := codec.NewReader(schemas.Outcome, outcomeValue{}, codec.ReaderOptions{})
		require.NoError(in.t, err)
		in.outcomeDecoder, err = reader.Decoder(id, schemas.Outcome)
		require.NoError(in.t, err)
	}
	var v outcomeValue
	require.NoError(in.t, in.outcomeDecoder.Decode(body, &v))
	amount, err := money.FromUnscaled(v.Amount, 2)
	require.NoError(in.t, err)
	return amount.String()
}

// read returns all committed records of topics.
func (in *installation) read(topics ...string) []*kgo.Record {
	in.t.Helper()
	ends, err := in.admin.ListCommittedOffsets(in.t.Context(), topics...)
	require.NoError(in.t, err)
	starts, err := in.admin.ListStartOffsets(in.t.Context(), topics...)
	require.NoError(in.t, err)
	w, err := New(in.options())
	require.NoError(in.t, err)
	defer w.Close()
	var records []*kgo.Record
	require.NoError(in.t, w.readRange(in.t.Context(), starts, ends, func(r *kgo.Record) bool {
		records = append(records, r)
		return true
	}))
	return records
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// sql asks the database as its owner and returns one text.
func (in *installation) sql(query string, args ...any) string {
	in.t.Helper()
	conn, err := pgx.Connect(in.t.Context(), in.url)
	require.NoError(in.t, err)
	defer func() { require.NoError(in.t, conn.Close(context.Background())) }()
	_, err = conn.Exec(in.t.Context(), "SET search_path = "+in.schema)
	require.NoError(in.t, err)
	var text *string
	require.NoError(in.t, conn.QueryRow(in.t.Context(), query, args...).Scan(&text))
	if text == nil {
		return ""
	}
	return *text
}

// testLog sends a worker's log to the test's.
type testLog struct{ t *testing.T }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

func testLevel() slog.Level {
	if os.Getenv("TIEOUT_TEST_DEBUG") != "" {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}
