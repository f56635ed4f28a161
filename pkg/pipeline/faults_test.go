package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// What tests do to an installation behind the worker's back.

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func invoice(n int) string { return fmt.Sprintf("INV-%06d", n) }

// asSuperuser executes statements that no worker may.
func (in *installation) asSuperuser(statements string) {
	in.t.Helper()
	conn, err := pgx.Connect(in.t.Context(), in.url)
	require.NoError(in.t, err)
	defer func() { require.NoError(in.t, conn.Close(context.Background())) }()
	_, err = conn.Exec(in.t.Context(), "SET search_path = "+in.schema+"; "+statements)
	require.NoError(in.t, err)
}

// takeAll fences every partition by a token of nobody's.
func (in *installation) takeAll() {
	in.t.Helper()
	in.asSuperuser(fmt.Sprintf("UPDATE progress SET owner = '%x'::uuid", rand.Text()[:16]))
}

func (in *installation) deleteRecords(partition int32, before int64) {
	in.t.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: in.lane.Topic, Partition: partition, At: before})
	deleted, err := in.admin.DeleteRecords(in.t.Context(), offsets)
	require.NoError(in.t, err)
	require.NoError(in.t, deleted.Error())
}

func (in *installation) forgetGroup() {
	in.t.Helper()
	deleted, err := in.admin.DeleteGroup(in.t.Context(), in.lane.Topic)
	require.NoError(in.t, err)
	require.NoError(in.t, deleted.Err)
}

func (in *installation) alterTopic(topic, key, value string) {
	in.t.Helper()
	_, err := in.admin.AlterTopicConfigs(in.t.Context(), []kadm.AlterConfig{{Name: key, Value: &value}}, topic)
	require.NoError(in.t, err)
}

// assertHalts drains into a halt of partition 0.
func (in *installation) assertHalts(reason string) {
	in.t.Helper()
	var halted *HaltedError
	require.ErrorAs(in.t, in.tryDrain(), &halted)
	require.Equal(in.t, reason, halted.Reason)
}

// forward sends a request that a fault held back.
func (in *installation) forward(req kmsg.Request) {
	client, err := kgo.NewClient(kgo.SeedBrokers(in.brokers...))
	if err != nil {
		in.t.Error(err)
		return
	}
	defer client.Close()
	if _, err := client.Request(context.Background(), req); err != nil {
		in.t.Error(err)
	}
}

// renewClient is needed where a topic has another id.
func (in *installation) renewClient() {
	in.t.Helper()
	in.client.Close()
	var err error
	in.client, err = kgo.NewClient(kgo.SeedBrokers(in.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(in.t, err)
	in.t.Cleanup(in.client.Close)
	in.admin = kadm.NewClient(in.client)
}

func (in *installation) openLedgerFor(group string) *ledger.Ledger {
	in.t.Helper()
	l, err := ledger.Open(in.t.Context(), ledger.Options{
		URL: in.url, Schema: in.schema, Role: in.schema + "_worker",
		ConsumerGroup: group, Table: in.lane.Stream.Table(), Stream: in.lane.Stream.Name(),
	})
	require.NoError(in.t, err)
	in.t.Cleanup(l.Close)
	require.NoError(in.t, l.RegisterRules(in.t.Context(), ledger.Rules{BinaryVersion: "test"}))
	return l
}

// forgeSource writes what any producer may write to a topic: a header that names
// an offset far ahead.
func (in *installation) forgeSource(topic string, partition int32, offset int64) {
	in.t.Helper()
	id := in.sql(`SELECT topic_id::text FROM source WHERE topic = $1 AND partition = $2`, in.lane.Topic, partition)
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	require.NoError(in.t, err)
	at := settle.Coordinates{TopicID: settle.TopicID(raw), Partition: partition, Offset: offset}
	in.send(&kgo.Record{Topic: topic, Headers: []kgo.RecordHeader{{Key: settle.HeaderSource, Value: []byte(at.String())}}})
}
