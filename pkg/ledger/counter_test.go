package ledger

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

func delivered(e *settle.Entry, run, delivery string) *settle.Entry {
	e.Delivery = settle.Delivery{RunID: run, Delivery: delivery}
	return e
}

func TestCounters_AreOneRowADeliveryAndSource(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	first, second := in.acquire(l, "claims", 0), in.acquire(l, "claims", 1)
	bad := func() *settle.Entry { return failing(settle.Business(settle.ReasonNegativeUnits, "", "")) }
	first.commit(
		delivered(newClaim("A"), "r", "d1"), delivered(newClaim("B", claims("9")), "r", "d1"), delivered(bad(), "r", "d1"),
		delivered(newClaim("A"), "r", "d2"), delivered(newClaim("C"), "live", ""))
	first.commit(delivered(newClaim("D"), "r", "d1"), delivered(newClaim("A", claims("2")), "r", "d2"))
	second.commit(delivered(newClaim("E"), "r", "d1"), delivered(newClaim("A"), "r", "d2"), delivered(newClaim("B", claims("9")), "r", "d2"))

	counts, err := l.RunCounts(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, []DeliveryCounts{
		{settle.Delivery{RunID: "r", Delivery: "d1"}, Counts{Applied: 4, DeadLettered: 1, Disputed: 1}},
		{settle.Delivery{RunID: "r", Delivery: "d2"}, Counts{Skipped: 3, DeadLettered: 1}},
	}, counts)
	require.EqualValues(t, 5, counts[0].Total())
	counts, err = l.RunCounts(t.Context(), "live")
	require.NoError(t, err)
	require.Equal(t, []DeliveryCounts{{settle.Delivery{RunID: "live"}, Counts{Applied: 1}}}, counts)
	require.Equal(t, 5, in.count(in.setup.Schema+".run_counter"))
	require.Zero(t, in.count(in.setup.Schema+".run_counter WHERE last_at < first_at"))
}

func TestCounters_MayGoNegative(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	_, err := in.connect(in.setup.WorkerRole).Exec(t.Context(), addCounters, source.id,
		[]string{"r"}, []string{"d"}, []int64{0}, []int64{0}, []int64{-2}, []int64{0},
		[]string{"0"}, []string{"0"}, []string{"-1.5"}, []int64{0})
	require.NoError(t, err)
	source.commit(delivered(failing(settle.Structural(settle.ReasonUndecodable, "", "")), "r", "d"))
	counts, err := l.RunCounts(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, Counts{DeadLettered: -1}, counts[0].Counts)
}

func TestCounters_AHostileDeliveryDoesNotStopTheBatch(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	bad := func(run string) *settle.Entry {
		return delivered(failing(settle.Structural(settle.ReasonInvalidText, settle.HeaderRunID, "")), run, "d")
	}
	source.commit(bad("r\xff"), bad("r\xfe"), bad("r\x00"))
	counts, err := l.RunCounts(t.Context(), "r\uFFFD")
	require.NoError(t, err)
	require.Equal(t, Counts{DeadLettered: 3}, counts[0].Counts)
}

func TestDeadLetterDepth_IsKeptWithEveryBatch(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	first, second := in.acquire(l, "claims", 0), in.acquire(l, "claims", 1)
	other := in.acquire(in.open(func(o *Options) { o.ConsumerGroup = "else" }), "others", 0)
	for i := range 3 {
		undecodable := func() *settle.Entry { return failing(settle.Structural(settle.ReasonUndecodable, "", "")) }
		first.commit(undecodable(), undecodable(), newClaim("A", claims(fmt.Sprint(i))))
		second.commit(failing(settle.Business(settle.ReasonNegativeUnits, "", "")), failing(settle.Structural(settle.ReasonKeyMismatch, "", "")))
		other.commit(failing(settle.Structural(settle.ReasonUndecodable, "", "")))
	}
	depth, err := l.DeadLetterDepth(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[settle.Class]int64{settle.ClassStructural: 9, settle.ClassBusiness: 5}, depth)
	require.Equal(t, 5, in.count(in.setup.Schema+".dead_letter_depth"))
}
