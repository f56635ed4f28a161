package runs

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/settle"
)

// A world is what is known of a run, built up by a test.
type world struct{ Facts }

func newWorld() *world {
	return &world{Facts{StreamOf: func(topic string) string {
		return map[string]string{"recon.accrue": "sales", "recon.validate": "sales"}[topic]
	}}}
}

func topicID(topic string) (id settle.TopicID) {
	copy(id[:], topic+"................")
	return id
}

func sum(text string) money.Sum {
	s, err := money.ParseSum(text)
	if err != nil {
		panic(err)
	}
	return s
}

// arrived has a partition count so many records, each of 1.5.
func (w *world) arrived(delivery, topic string, partition int32, incarnation int32, applied, skipped, dead int64) *ledger.SourceTally {
	of := func(count int64) (s money.Sum) {
		for range count {
			s.Add(money.MustParse("1.5"))
		}
		return s
	}
	w.Tallies = append(w.Tallies, ledger.SourceTally{
		Delivery: settle.Delivery{RunID: "r", Delivery: delivery}, Topic: topic, TopicID: topicID(topic), Partition: partition, Incarnation: incarnation,
		Counts:     ledger.Counts{Applied: applied, Skipped: skipped, DeadLettered: dead},
		Quantities: ledger.Quantities{Applied: of(applied), Skipped: of(skipped), DeadLettered: of(dead)},
		First:      time.Unix(1000+int64(partition), 0), Last: time.Unix(2000+int64(partition), 0),
	})
	return &w.Tallies[len(w.Tallies)-1]
}

// sent adds the manifest of a delivery whose records are of 1.5 each.
func (w *world) sent(delivery, topic string, partitions map[int32]int64, change ...func(*producer.Manifest)) {
	m := producer.Manifest{
		Delivery: settle.Delivery{RunID: "r", Delivery: delivery}, State: producer.ManifestComplete, Stream: "sales",
		Topic: topic, TopicID: topicID(topic), Content: "file", Partitions: partitions, Quantity: "qualifying_units",
	}
	for _, count := range partitions {
		m.Sent += count
		for range count {
			m.ControlSum.Add(money.MustParse("1.5"))
		}
	}
	for _, c := range change {
		c(&m)
	}
	w.Manifests = append(w.Manifests, m)
}

func aborted(m *producer.Manifest) {
	m.State, m.Quantity, m.ControlSum = producer.ManifestAborted, "", money.Sum{}
}

// only assesses what must be one part.
func (w *world) only(t *testing.T) Part {
	t.Helper()
	parts := Assess(w.Facts)
	require.Len(t, parts, 1)
	return parts[0]
}

func TestAssess_AllThatWasSentAndNothingElseIsComplete(t *testing.T) {
	w := newWorld()
	w.sent("d", "recon.accrue", map[int32]int64{0: 3, 4: 2})
	w.arrived("d", "recon.accrue", 0, 0, 1, 1, 1)
	w.arrived("d", "recon.accrue", 4, 0, 2, 0, 0)
	p := w.only(t)
	require.Equal(t, Complete, p.State)
	require.True(t, p.Done())
	require.Empty(t, p.Differing)
	require.Equal(t, ledger.Counts{Applied: 3, Skipped: 1, DeadLettered: 1}, p.Counts)
	require.Equal(t, "sales", p.Stream)
	require.Equal(t, time.Unix(1000, 0), p.First)
	require.Equal(t, time.Unix(2004, 0), p.Last)
	rest, ok := p.Unexplained()
	require.True(t, ok)
	require.True(t, rest.IsZero())
}

func TestAssess_ADeliveryOfNothingIsComplete(t *testing.T) {
	w := newWorld()
	w.sent("d", "recon.accrue", nil)
	require.Equal(t, Complete, w.only(t).State)
}

func TestAssess_NamesThePartitionsOnWhichSomethingIsMissing(t *testing.T) {
	w := newWorld()
	w.sent("d", "recon.accrue", map[int32]int64{0: 3, 1: 1, 2: 5})
	w.arrived("d", "recon.accrue", 0, 0, 3, 0, 0)
	w.arrived("d", "recon.accrue", 2, 0, 1, 1, 0)
	w.Halts = []ledger.Halt{
		{TopicID: topicID("recon.accrue"), Partition: 2, Reason: ledger.HaltLedgerBehind},
		{TopicID: topicID("recon.accrue"), Partition: 0, Reason: ledger.HaltLedgerBehind},
		{TopicID: topicID("recon.validate"), Partition: 1, Reason: ledger.HaltLedgerBehind},
	}
	p := w.only(t)
	require.Equal(t, Incomplete, p.State)
	require.False(t, p.Done())
	require.Equal(t, []Partition{{1, 1, 0, ""}, {2, 5, 2, ledger.HaltLedgerBehind}}, p.Differing)
	require.EqualValues(t, 4, p.Missing())
	rest, _ := p.Unexplained()
	require.Equal(t, "6", rest.String())
}

func TestAssess_IncarnationsOfAPartitionCountTogetherAndOtherTopicsDoNot(t *testing.T) {
	w := newWorld()
	w.sent("d", "recon.accrue", map[int32]int64{0: 3})
	w.arrived("d", "recon.accrue", 0, 0, 1, 0, 0)
	w.arrived("d", "recon.accrue", 0, 1, 2, 0, 0)
	require.Equal(t, Complete, w.only(t).State)

	w.Tallies[1].TopicID = topicID("created again")
	parts := Assess(w.Facts)
	require.Len(t, parts, 2)
	states := []State{parts[0].State, parts[1].State}
	slices.Sort(states)
	require.Equal(t, []State{Incomplete, Unknown}, states)
}

func TestAssess_MoreThanWasSentIsADifference(t *testing.T) {
	w := newWorld()
	w.sent("d", "recon.accrue", map[int32]int64{0: 3})
	w.arrived("d", "recon.accrue", 0, 0, 3, 0, 0)
	w.arrived("d", "recon.accrue", 1, 0, 0, 1, 0)
	p := w.only(t)
	require.Equal(t, Differs, p.State)
	require.Equal(t, []Partition{{1, 0, 1, ""}}, p.Differing)
	require.Zero(t, p.Missing())

	w.sent("d", "recon.accrue", map[int32]int64{0: 4}) // more on one partition doesn't make up for less on another
	p = w.only(t)
	require.Equal(t, Incomplete, p.State)
	require.EqualValues(t, 1, p.Missing())
}

func TestAssess_TheControlSumIsComparedWhereItCanBe(t *testing.T) {
	other := func(m *producer.Manifest) { m.ControlSum = sum("4.6") }
	for name, c := range map[string]struct {
		change     func(*producer.Manifest)
		unmeasured int64
		want       State
	}{
		"the same": {func(*producer.Manifest) {}, 0, Complete},
		"another":  {other, 0, Differs},
		"another, by a record that can't be read": {other, 1, Complete},
		"none": {func(m *producer.Manifest) { m.Quantity, m.ControlSum = "", money.Sum{} }, 0, Complete},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.sent("d", "recon.accrue", map[int32]int64{0: 3}, c.change)
			w.arrived("d", "recon.accrue", 0, 0, 3, 0, 0).Quantities.Unmeasured = c.unmeasured
			require.Equal(t, c.want, w.only(t).State)
		})
	}
}

func TestAssess_WithoutAManifestNothingIsKnown(t *testing.T) {
	w := newWorld()
	w.arrived("", "recon.accrue", 0, 0, 3, 0, 0)
	p := w.only(t)
	require.Equal(t, Unknown, p.State)
	require.False(t, p.Done())
	_, ok := p.Unexplained()
	require.False(t, ok)
}

func TestAssess_WhatIsNotSettledIsNotAwaited(t *testing.T) {
	w := newWorld()
	w.sent("d", "recon.dlq", map[int32]int64{0: 3})
	p := w.only(t)
	require.Equal(t, Unsettled, p.State)
	require.Equal(t, "sales", p.Stream, "as its manifest says")
	require.True(t, p.Done())

	w.arrived("d", "recon.dlq", 0, 0, 1, 0, 0) // yet somebody does settle it
	require.Equal(t, Incomplete, w.only(t).State)
}

func TestAssess_AnAbortedDeliveryIsDoneOnceItsFileCameAgain(t *testing.T) {
	w := newWorld()
	w.sent("d1", "recon.accrue", map[int32]int64{0: 3}, aborted)
	w.arrived("d1", "recon.accrue", 0, 0, 4, 0, 0) // one more than its producer knew
	p := w.only(t)
	require.Equal(t, Aborted, p.State)
	require.Empty(t, p.Differing)
	require.False(t, p.Done())

	again := func(change ...func(*producer.Manifest)) []Part {
		w := &world{w.Facts}
		w.Manifests, w.Tallies = slices.Clone(w.Manifests), slices.Clone(w.Tallies)
		w.sent("d2", "recon.validate", map[int32]int64{0: 4}, change...)
		w.arrived("d2", "recon.validate", 0, 0, 0, 4, 0)
		return Assess(w.Facts)
	}
	parts := again()
	require.Equal(t, "d2", parts[0].SentAgain)
	require.True(t, Done(parts))
	require.False(t, Done(again(func(m *producer.Manifest) { m.Content = "another file" })))
	require.False(t, Done(again(aborted)))
	require.False(t, Done(again(func(m *producer.Manifest) { m.Partitions = map[int32]int64{0: 5} })), "not all of it has arrived")

	w.Tallies[0].Applied = 2
	require.False(t, Done(again()), "one that was acknowledged is missing")
}

func TestAssess_TheLastManifestOfADeliveryCounts(t *testing.T) {
	w := newWorld()
	w.sent("d", "recon.accrue", map[int32]int64{0: 9}, aborted)
	w.sent("d", "recon.accrue", map[int32]int64{0: 3})
	w.arrived("d", "recon.accrue", 0, 0, 3, 0, 0)
	require.Equal(t, Complete, w.only(t).State)
}

func TestAssess_PartsAreInTheOrderOfTheirDeliveries(t *testing.T) {
	w := newWorld()
	w.sent("d3", "recon.accrue", nil)
	w.arrived("d2", "recon.validate", 0, 0, 1, 0, 0)
	w.arrived("d2", "recon.accrue", 0, 0, 1, 0, 0)
	w.arrived("", "recon.accrue", 0, 0, 1, 0, 0)
	var order []string
	for _, p := range Assess(w.Facts) {
		order = append(order, p.Delivery.Delivery+" "+p.Topic)
	}
	require.Equal(t, []string{" recon.accrue", "d2 recon.accrue", "d2 recon.validate", "d3 recon.accrue"}, order)
	require.Empty(t, Assess(newWorld().Facts))
}

// Whatever part of a delivery has been settled, from wherever: it's complete
// when, and only when, every partition has what was sent to it.
func TestAssess_IsCompleteExactlyWhenEveryPartitionIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld()
		partitions := rapid.MapOf(rapid.Int32Range(0, 5), rapid.Int64Range(0, 4)).Draw(rt, "sent")
		w.sent("d", "recon.accrue", partitions)
		missing := int64(0)
		for partition, count := range partitions {
			got := rapid.Int64Range(0, count).Draw(rt, "got")
			missing += count - got
			for left := got; left > 0; left-- {
				outcome := rapid.IntRange(0, 2).Draw(rt, "outcome")
				var counts [3]int64
				counts[outcome] = 1
				w.arrived("d", "recon.accrue", partition, int32(left), counts[0], counts[1], counts[2])
			}
		}
		p := w.only(t)
		require.Equal(rt, missing, p.Missing())
		require.Equal(rt, missing == 0, p.State == Complete)
		require.Equal(rt, missing > 0, p.State == Incomplete)
		rest, _ := p.Unexplained()
		want := money.Sum{}
		for range missing {
			want.Add(money.MustParse("1.5"))
		}
		require.Equal(rt, want, rest)
	})
}
