package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/settle"
)

func TestSettles_PostsDisputesDuplicatesAndDeadLetters(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(
		claim{invoice: "A"},                   // 0: 2.50, nothing claimed
		claim{invoice: "B", claimed: "2.50"},  // 1: equals the model
		claim{invoice: "C", claimed: "9.99"},  // 2: disputed
		claim{invoice: "A"},                   // 3: a copy
		claim{invoice: "A", units: "3"},       // 4: other economics
		claim{invoice: "A", version: 2},       // 5: another agreement version
		claim{invoice: "D", units: "-1"},      // 6: business failure
		claim{invoice: "E", rate: "0.125000"}, // 7: 0.25
	)
	in.send(&kgo.Record{Key: []byte("k"), Value: []byte("not Avro")}) // 8

	in.drain()

	assert.ElementsMatch(t, []outcome{
		{"recon.autopost", "0/0", "", "2.50"},
		{"recon.autopost", "0/1", "", "2.50"},
		{"recon.dispute", "0/2", "", "2.50"},
		{"recon.dlq", "0/4", "conflicting_duplicate", ""},
		{"recon.dlq", "0/5", "version_conflict", ""},
		{"recon.dlq", "0/6", "negative_units", ""},
		{"recon.autopost", "0/7", "", "0.25"},
		{"recon.dlq", "0/8", "invalid_wire_format", ""},
	}, in.outcomes())
	assert.Equal(t, "4 7.75", in.sql(`SELECT count(*) || ' ' || sum(amount) FROM sales_ledger`))
	assert.Equal(t, "4 1 3 1", in.sql(`SELECT sum(applied)||' '||sum(skipped)||' '||sum(dead_lettered)||' '||sum(disputed) FROM run_counter WHERE run_id = 'run-1'`))
	assert.Equal(t, "1", in.sql(`SELECT sum(dead_lettered)::text FROM run_counter WHERE run_id = 'live'`))
	assert.Equal(t, "9 9", in.sql(`SELECT next_offset || ' ' || published_offset FROM progress JOIN source USING (source) WHERE partition = 0`))
}

func TestSettles_SecondDeliveryPostsNothing(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1}, claim{invoice: "C", units: "-1"})
	in.drain()
	in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1}, claim{invoice: "C", units: "-1"})
	in.drain()

	assert.ElementsMatch(t, []outcome{
		{"recon.autopost", "0/0", "", "2.50"},
		{"recon.autopost", "1/0", "", "2.50"},
		{"recon.dlq", "0/1", "negative_units", ""},
		{"recon.dlq", "0/3", "negative_units", ""},
	}, in.outcomes())
	assert.Equal(t, "2", in.sql(`SELECT count(*)::text FROM sales_ledger`))
}

func TestOutcome_CarriesKeyAndHeaders(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	trace := kgo.RecordHeader{Key: settle.HeaderTraceparent, Value: []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")}
	forged := kgo.RecordHeader{Key: settle.HeaderSource, Value: []byte("forged")}
	in.produce(
		claim{invoice: "A", headers: []kgo.RecordHeader{trace}},
		claim{invoice: "B", units: "-1", headers: []kgo.RecordHeader{trace, forged, {Key: "mine", Value: []byte("kept")}}},
	)
	in.drain()

	posted := in.read("recon.autopost")
	require.Len(t, posted, 1)
	assert.Equal(t, in.envelopeOf(claim{invoice: "A"}).ReconciliationKey, string(posted[0].Key))
	assert.Equal(t, "c-A", header(posted[0], settle.HeaderCorrelationID))
	assert.Equal(t, "run-1", header(posted[0], settle.HeaderRunID))
	assert.Equal(t, "delivery-1", header(posted[0], settle.HeaderDelivery))
	assert.Equal(t, string(trace.Value), header(posted[0], settle.HeaderTraceparent))

	dead := in.read("recon.dlq")
	require.Len(t, dead, 1)
	assert.Equal(t, "kept", header(dead[0], "mine"))
	assert.Equal(t, string(trace.Value), header(dead[0], settle.HeaderTraceparent))
	assert.NotEqual(t, "forged", header(dead[0], settle.HeaderSource), "a header that tieout writes replaces any of that name")
	assert.Equal(t, "recon.validate", header(dead[0], settle.HeaderErrorTopic))
	assert.Equal(t, "1", header(dead[0], settle.HeaderErrorOffset))
	assert.Equal(t, "business", header(dead[0], settle.HeaderErrorClass))
	assert.Equal(t, "qualifying_units", header(dead[0], settle.HeaderErrorField))
}

func TestOutcome_TooLargeBecomesAPointer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	const limit = 2000
	in.alterTopic("recon.dlq", "max.message.bytes", fmt.Sprint(limit))
	value := []byte(strings.Repeat("x", 2*limit))
	in.send(&kgo.Record{Key: []byte("k"), Value: value})
	in.drain()

	dead := in.read("recon.dlq")
	require.Len(t, dead, 1)
	assert.Empty(t, dead[0].Value)
	assert.Equal(t, "k", string(dead[0].Key))
	assert.NotEmpty(t, header(dead[0], headerPointer))
	assert.Equal(t, fmt.Sprint(len(value)), in.sql(`SELECT length(value)::text FROM dead_letter`), "the ledger keeps it whole")
}

func TestSchema_UnknownIDIsGivenTimeAndThenDeadLetters(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	unknown := in.record(claim{invoice: "A"})
	unknown.Value[4] = 99
	in.produce(claim{invoice: "B"})
	in.send(unknown)
	in.produce(claim{invoice: "C"})
	in.drain(func(o *Options) { o.UnknownSchemaWait = 300 * time.Millisecond })

	assert.ElementsMatch(t, []outcome{
		{"recon.autopost", "0/0", "", "2.50"},
		{"recon.dlq", "0/1", "unknown_schema", ""},
		{"recon.autopost", "0/2", "", "2.50"},
	}, in.outcomes())
}

func TestDrain_EndsBehindTransactionMarkers(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.transaction(kgo.TryCommit, claim{invoice: "A"}, claim{invoice: "B"})
	in.transaction(kgo.TryAbort, claim{invoice: "C"})
	in.transaction(kgo.TryCommit, claim{invoice: "D"})
	in.transaction(kgo.TryAbort, claim{invoice: "E"})
	in.drain()

	assert.Equal(t, "3", in.sql(`SELECT count(*)::text FROM sales_ledger`))
	assert.Len(t, in.outcomes(), 3)
}

func TestStop_FinishesTheBatchInHandAndLeaves(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	_, stop := in.start()
	in.produce(claim{invoice: "A"})
	in.eventually("1", `SELECT count(*)::text FROM sales_ledger`)

	started := time.Now()
	require.NoError(t, stop())
	assert.Less(t, time.Since(started), 10*time.Second)
	group, err := in.admin.DescribeGroups(t.Context(), in.lane.Topic)
	require.NoError(t, err)
	assert.Empty(t, group[in.lane.Topic].Members, "the group is left")
	assert.Len(t, in.outcomes(), 1)
	assert.Equal(t, "1", in.sql(`SELECT published_offset::text FROM progress JOIN source USING (source) WHERE partition = 0`), "the floor is written on the way out")
}

// eventually waits until a query gives a text.
func (in *installation) eventually(want, query string) {
	in.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if in.sql(query) == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.Equal(in.t, want, in.sql(query), "waited for: %s", query)
}

// transaction enqueues claims in a transaction of a producer's own.
func (in *installation) transaction(end kgo.TransactionEndTry, claims ...claim) {
	in.t.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(in.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("producer"))
	require.NoError(in.t, err)
	defer producer.Close()
	require.NoError(in.t, producer.BeginTransaction())
	for _, c := range claims {
		require.NoError(in.t, producer.ProduceSync(in.t.Context(), in.record(c)).FirstErr())
	}
	require.NoError(in.t, producer.EndTransaction(context.Background(), end))
}
