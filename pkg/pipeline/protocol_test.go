package pipeline

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieout/tieout/pkg/ledger"
)

// Each test is named for the sentence of the protocol that it holds.

func TestRebuild_WhatPostgresHasAndKafkaDoesNotIsPublishedOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(
		claim{invoice: "A"}, claim{invoice: "B", claimed: "1"}, claim{invoice: "A"},
		claim{invoice: "A", units: "7"}, claim{invoice: "C", units: "-1"},
	)
	in.crashBeforePublishing()
	assert.Empty(t, in.outcomes(), "nothing is published by the worker that died")
	assert.Equal(t, "2", in.sql(`SELECT count(*)::text FROM sales_ledger`))

	in.produce(claim{invoice: "D"})
	in.drain()
	assert.ElementsMatch(t, []outcome{
		{"recon.autopost", "0/0", "", "2.50"},
		{"recon.dispute", "0/1", "", "2.50"},
		{"recon.dlq", "0/3", "conflicting_duplicate", ""},
		{"recon.dlq", "0/4", "negative_units", ""},
		{"recon.autopost", "0/5", "", "2.50"},
	}, in.outcomes())
	assert.Equal(t, "3 1 2", in.sql(`SELECT sum(applied)||' '||sum(skipped)||' '||sum(dead_lettered) FROM run_counter`), "each original is counted once")
}

func TestRebuild_RebuiltOutcomeEqualsTheFreshOne(t *testing.T) {
	t.Parallel()
	fresh, rebuilt := newInstallation(t), newInstallation(t)
	claims := []claim{{invoice: "A", claimed: "2.5"}, {invoice: "B", claimed: "1.123456789"}, {invoice: "C", units: "-1"}}
	fresh.produce(claims...)
	fresh.drain()
	rebuilt.produce(claims...)
	rebuilt.crashBeforePublishing()
	rebuilt.drain()

	want, got := fresh.read(fresh.lane.Topics.All()...), rebuilt.read(fresh.lane.Topics.All()...)
	require.Len(t, got, len(want))
	for _, w := range want {
		for _, g := range got {
			if g.Topic != w.Topic {
				continue
			}
			assert.Equal(t, w.Key, g.Key)
			if w.Topic != "recon.dlq" { // its value has a message id of its own
				assert.Equal(t, w.Value, g.Value)
			}
			assert.Len(t, g.Headers, len(w.Headers))
			for i, h := range w.Headers {
				assert.Equal(t, h.Key, g.Headers[i].Key)
			}
		}
	}
}

func TestRebuild_OfOffsetsThatTheLogNoLongerHas(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B", units: "-1"}, claim{invoice: "C"})
	in.crashBeforePublishing()
	in.deleteRecords(0, 2)
	in.produce(claim{invoice: "D"})
	in.drain()
	assert.ElementsMatch(t, []outcome{
		{"recon.autopost", "0/0", "", "2.50"},
		{"recon.dlq", "0/1", "negative_units", ""},
		{"recon.autopost", "0/2", "", "2.50"},
		{"recon.autopost", "0/3", "", "2.50"},
	}, in.outcomes())
}

func TestRebuild_UnaccountedRecordHaltsThatPartitionAlone(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1})
	in.crashBeforePublishing()
	in.asSuperuser(`SET session_replication_role = replica; ALTER TABLE sales_ledger DISABLE TRIGGER ALL; DELETE FROM sales_ledger WHERE retailer_invoice = 'A'; ALTER TABLE sales_ledger ENABLE TRIGGER ALL`)

	var halted *HaltedError
	require.ErrorAs(t, in.tryDrain(), &halted)
	assert.Equal(t, string(haltUnaccounted), halted.Reason)
	assert.Equal(t, int32(0), halted.Partition)
	assert.ElementsMatch(t, []outcome{{"recon.autopost", "1/0", "", "2.50"}}, in.outcomes())
	assert.Empty(t, in.sql(`SELECT owner::text FROM progress JOIN source USING (source) WHERE partition = 0`), "a halted partition has no owner")
}

func TestEnd_AppliedButReplyLostPublishesNothingTwice(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	var lost atomic.Int32
	var forwarding atomic.Bool
	in.cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		in.cluster.KeepControl()
		end := req.(*kmsg.EndTxnRequest)
		if !end.Commit || lost.Load() >= 2 || forwarding.Load() {
			return nil, nil, false
		}
		lost.Add(1)
		applied := *end
		forwarding.Store(true)
		in.cluster.SleepControl(func() { in.forward(&applied) })
		forwarding.Store(false)
		return nil, assert.AnError, true
	})
	in.produce(claim{invoice: "A"}, claim{invoice: "B", units: "-1"}, claim{invoice: "C", partition: 2})
	in.drain()
	assert.ElementsMatch(t, []outcome{
		{"recon.autopost", "0/0", "", "2.50"},
		{"recon.dlq", "0/1", "negative_units", ""},
		{"recon.autopost", "2/0", "", "2.50"},
	}, in.outcomes())
	assert.NotZero(t, lost.Load())
}

func TestEnd_NeverAppliedIsPublishedByTheNextSession(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	var dropped atomic.Int32
	in.cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
		in.cluster.KeepControl()
		if dropped.Add(1) > 3 {
			return nil, nil, false
		}
		return nil, assert.AnError, true
	})
	in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1})
	in.drain()
	assert.ElementsMatch(t, []outcome{{"recon.autopost", "0/0", "", "2.50"}, {"recon.autopost", "1/0", "", "2.50"}}, in.outcomes())
}

func TestFenced_ZombieCommitsNothingAndTakesUpAgainOnlyByAnAssignment(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"})
	fences, clients := &fenceCount{}, &clientCount{}
	_, stop := in.start(func(o *Options) { o.Metrics, o.Client = fences, append(o.Client, kgo.WithHooks(clients)) })
	in.eventually("1", `SELECT count(*)::text FROM sales_ledger`)
	before := clients.n.Load()

	in.takeAll()
	in.produce(claim{invoice: "B"})
	in.eventually("2", `SELECT count(*)::text FROM sales_ledger`)
	assert.Equal(t, int64(1), fences.n.Load(), "the commit under the old token is refused")
	assert.Equal(t, before+1, clients.n.Load(), "what is fenced is taken up by a new session alone")
	require.NoError(t, stop())
	assert.ElementsMatch(t, []outcome{{"recon.autopost", "0/0", "", "2.50"}, {"recon.autopost", "0/1", "", "2.50"}}, in.outcomes())
}

// A row that just has no owner (a halt that was mended, a skip) is taken up in
// the same session.
func TestFenced_ByNobodyGoesBackToStepOne(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"})
	fences, clients := &fenceCount{}, &clientCount{}
	_, stop := in.start(func(o *Options) { o.Metrics, o.Client = fences, append(o.Client, kgo.WithHooks(clients)) })
	in.eventually("1", `SELECT count(*)::text FROM sales_ledger`)
	before := clients.n.Load()

	in.asSuperuser(`UPDATE progress SET owner = NULL`)
	in.produce(claim{invoice: "B"})
	in.eventually("2", `SELECT count(*)::text FROM sales_ledger`)
	assert.Zero(t, fences.n.Load())
	assert.Equal(t, before, clients.n.Load(), "the session is the same")
	require.NoError(t, stop())
	assert.Len(t, in.outcomes(), 2)
}

// fenceCount counts partitions that were lost to another.
type fenceCount struct {
	noMetrics
	n atomic.Int64
}

func (c *fenceCount) Fenced(string) { c.n.Add(1) }

// clientCount counts the Kafka clients that a worker opens: a session is one.
type clientCount struct{ n atomic.Int64 }

func (c *clientCount) OnNewClient(*kgo.Client) { c.n.Add(1) }

func TestFloor_LostGroupOffsetsPublishNothingTwice(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1}, claim{invoice: "C", units: "-1"})
	in.drain()
	in.forgetGroup()
	in.produce(claim{invoice: "D"})
	in.drain()
	assert.Len(t, in.outcomes(), 4)
}

func TestFloor_LostGroupOffsetsAndAFloorThatIsBehindAreReadBackFromTheOutcomes(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B"}, claim{invoice: "C"})
	in.drain()
	in.forgetGroup()
	in.asSuperuser(`UPDATE progress SET published_offset = 0`)
	in.produce(claim{invoice: "D"})
	in.drain()
	assert.Len(t, in.outcomes(), 4)
}

func TestHalt_LedgerBehindKafka(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B"})
	in.drain()
	in.asSuperuser(`UPDATE progress SET next_offset = 1, published_offset = 1`)
	in.produce(claim{invoice: "C"})
	in.assertHalts("ledger_behind")
}

func TestHalt_OutOfRetention(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"})
	in.drain()
	in.produce(claim{invoice: "B"}, claim{invoice: "C"})
	in.deleteRecords(0, 2)
	in.assertHalts("out_of_retention")
}

func TestHalt_TopicRecreated(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"})
	in.drain()
	_, err := in.admin.DeleteTopic(t.Context(), in.lane.Topic)
	require.NoError(t, err)
	_, err = in.admin.CreateTopic(t.Context(), testPartitions, 1, nil, in.lane.Topic)
	require.NoError(t, err)
	in.renewClient()
	in.produce(claim{invoice: "B"})
	in.assertHalts("topic_recreated")
}

func TestHalt_IsTakenUpAgainOnceItsRowIsMended(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"})
	in.drain()
	in.asSuperuser(`UPDATE progress SET state = 'halted', reason = 'test', owner = NULL`)
	in.produce(claim{invoice: "B"}, claim{invoice: "C", partition: 1})
	_, stop := in.start()
	time.Sleep(500 * time.Millisecond)
	assert.Equal(t, "1", in.sql(`SELECT count(*)::text FROM sales_ledger`))
	in.asSuperuser(`UPDATE progress SET state = 'active', reason = NULL`)
	in.eventually("3", `SELECT count(*)::text FROM sales_ledger`)
	require.NoError(t, stop())
	assert.Len(t, in.outcomes(), 3)
}

func TestFirstSeen_LogStartAboveZeroIsAGap(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B"})
	in.deleteRecords(0, 1)
	in.drain()
	assert.Equal(t, "0 1", in.sql(`SELECT from_offset || ' ' || to_offset FROM gap`))
	assert.Equal(t, "1", in.sql(`SELECT count(*)::text FROM sales_ledger`))
}

func TestGroup_SecondGroupOnOneLedgerIsRefused(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"})
	in.drain()
	other := in.openLedgerFor("other." + in.lane.Topic)
	err := in.tryDrain(func(o *Options) { o.GroupPrefix, o.Ledger = "other.", other })
	var refused *ledger.OtherGroupError
	require.ErrorAs(t, err, &refused)
}

func TestInstance_ANamesakeEndsTheOlderWorker(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	named := func(o *Options) { o.Instance, o.InstanceIsOwn = "same", false }
	first, err := New(in.options(named, func(o *Options) { o.Drain = false }))
	require.NoError(t, err)
	defer first.Close()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- first.Run(ctx) }()
	in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1}, claim{invoice: "C", partition: 2})
	in.eventually("3", `SELECT count(*)::text FROM sales_ledger`)

	_, stop := in.start(named)
	var got error
	for i := 0; got == nil && i < 200; i++ {
		in.produce(claim{invoice: "X"}, claim{invoice: "Y", partition: 1}, claim{invoice: "Z", partition: 2})
		select {
		case got = <-ended:
		case <-time.After(50 * time.Millisecond):
		}
	}
	require.ErrorIs(t, got, ErrFencedByName)
	assert.Contains(t, got.Error(), "same")
	require.NoError(t, stop())
}

func TestWorkers_JoinAndLeaveUnderLoadAndEachOutcomeIsOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stopLoad := make(chan struct{})
	sent := make(chan int)
	go func() {
		n := 0
		defer func() { sent <- n }()
		for {
			select {
			case <-stopLoad:
				return
			default:
			}
			for p := range int32(testPartitions) {
				in.produce(claim{invoice: invoice(n), partition: p})
				n++
			}
		}
	}()
	_, stopA := in.start()
	_, stopB := in.start()
	time.Sleep(time.Second)
	_, stopC := in.start()
	time.Sleep(time.Second)
	require.NoError(t, stopA())
	time.Sleep(time.Second)
	close(stopLoad)
	n := <-sent
	require.NoError(t, stopB())
	require.NoError(t, stopC())
	in.drain()

	seen := map[string]int{}
	for _, o := range in.outcomes() {
		seen[o.Source]++
	}
	assert.Len(t, seen, n)
	for source, times := range seen {
		assert.Equal(t, 1, times, source)
	}
}

// crashBeforePublishing runs a worker to the point where Postgres has
// everything and Kafka nothing.
func (in *installation) crashBeforePublishing() {
	in.t.Helper()
	w, err := New(in.options())
	require.NoError(in.t, err)
	defer w.Close()
	ctx, cancel := context.WithTimeout(in.t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(in.t, w.open(ctx))
	lag, err := in.admin.ListEndOffsets(ctx, in.lane.Topic)
	require.NoError(in.t, err)
	total := int64(0)
	lag.Each(func(o kadm.ListedOffset) { total += o.Offset })
	for in.sql(`SELECT coalesce(sum(next_offset), 0)::text FROM progress`) != itoa(total) {
		require.NoError(in.t, ctx.Err())
		fetches := w.poll(ctx)
		require.NoError(in.t, w.acquire(ctx))
		require.NoError(in.t, w.take(ctx, fetches))
		require.NoError(in.t, w.commit(ctx))
		w.pauseAndResume()
		w.session.kafka.AllowRebalance()
	}
	w.forgetPartitions()
	w.session.close()
}
