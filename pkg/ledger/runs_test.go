package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

func (in *installation) reader() *Reader {
	in.t.Helper()
	r, err := OpenReader(in.t.Context(), in.readerOptions())
	require.NoError(in.t, err)
	in.t.Cleanup(func() { r.Close(in.t.Context()) })
	return r
}

func (in *installation) readerOptions() ReaderOptions {
	return ReaderOptions{URL: in.setup.URL, Schema: in.setup.Schema, Role: in.setup.WorkerRole}
}

func units(text string) func(*claim) {
	return func(c *claim) { c.units = money.MustParse(text) }
}

func sumOf(t *testing.T, text string) money.Sum {
	t.Helper()
	sum, err := money.ParseSum(text)
	require.NoError(t, err)
	return sum
}

func TestRun_TalliesEachSourceByWhatBecameOfItsRecords(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	first, second := in.acquire(l, "claims", 0), in.acquire(l, "claims", 1)
	unread := failing(settle.Structural(settle.ReasonUndecodable, "", ""))
	negative := newClaim("N", units("-7"))
	negative.Failure = settle.Business(settle.ReasonNegativeUnits, "", "")
	first.commit(
		delivered(newClaim("A", units("1.50")), "r", "d1"), delivered(newClaim("B", units("2.25"), claims("9")), "r", "d1"),
		delivered(unread, "r", "d1"), delivered(negative, "r", "d1"))
	first.commit(delivered(newClaim("A", units("1.5")), "r", "d1"), delivered(newClaim("B", units("100")), "r", "d1")) // a copy, a conflict
	second.commit(delivered(newClaim("C", units("0.000000001")), "r", "d1"), delivered(newClaim("A", units("1.5")), "r", "d2"),
		delivered(newClaim("D"), "else", "d3"))

	got, err := in.reader().Run(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, got, 3)
	for i := range got {
		require.Equal(t, "claims", got[i].Topic)
		require.Equal(t, topicID("claims"), got[i].TopicID)
		require.WithinDuration(t, time.Now(), got[i].Last, time.Minute)
		require.False(t, got[i].Last.Before(got[i].First))
		got[i].Topic, got[i].TopicID, got[i].First, got[i].Last = "", settle.TopicID{}, time.Time{}, time.Time{}
	}
	require.Equal(t, []SourceTally{
		{
			Delivery: settle.Delivery{RunID: "r", Delivery: "d1"}, Partition: 0,
			Counts: Counts{Applied: 2, Skipped: 1, DeadLettered: 3, Disputed: 1},
			Quantities: Quantities{
				Applied: sumOf(t, "3.75"), Skipped: sumOf(t, "1.5"), DeadLettered: sumOf(t, "93"), Unmeasured: 1,
			},
		},
		{
			Delivery: settle.Delivery{RunID: "r", Delivery: "d1"}, Partition: 1,
			Counts: Counts{Applied: 1}, Quantities: Quantities{Applied: sumOf(t, "0.000000001")},
		},
		{
			Delivery: settle.Delivery{RunID: "r", Delivery: "d2"}, Partition: 1,
			Counts: Counts{Skipped: 1}, Quantities: Quantities{Skipped: sumOf(t, "1.5")},
		},
	}, got)
	require.Equal(t, "98.25", got[0].Quantities.Total().String())

	got, err = in.reader().Run(t.Context(), "unheard of")
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestRun_IncarnationsOfAPartitionAreSourcesOfTheirOwn(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	source.commit(delivered(newClaim("A"), "r", "d"))
	in.exec("INSERT INTO source (topic_id, topic, partition, incarnation) SELECT topic_id, topic, partition, 1 FROM source")
	in.exec("INSERT INTO run_counter (run_id, delivery, source, applied, skipped, dead_lettered, disputed)" +
		" SELECT 'r', 'd', source, 0, 4, 0, 0 FROM source WHERE incarnation = 1")
	got, err := in.reader().Run(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.EqualValues(t, 1, got[0].Applied)
	require.EqualValues(t, 1, got[1].Incarnation)
	require.EqualValues(t, 4, got[1].Skipped)
}

func TestDeliveries_AreTheNewestFirstAndWhole(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	claimed, others := in.acquire(l, "claims", 0), in.acquire(in.open(func(o *Options) { o.ConsumerGroup = "else" }), "others", 0)
	claimed.commit(delivered(newClaim("A"), "r", "d1"), delivered(newClaim("L"), "live", ""))
	claimed.commit(delivered(newClaim("A"), "r", "d2"))
	others.commit(delivered(newClaim("B"), "r", "d1"), delivered(newClaim("C"), "r", "d1"))
	in.exec("UPDATE run_counter SET last_at = CASE delivery WHEN 'd1' THEN timestamptz '2026-03-03Z' WHEN 'd2' THEN '2026-02-02Z' ELSE '2026-01-01Z' END")
	// Of a delivery on two topics, only one has anything new.
	in.exec("UPDATE run_counter SET last_at = '2026-01-02Z' WHERE delivery = 'd1' AND source = (SELECT source FROM source WHERE topic = 'claims')")

	names := func(since string, limit int) (list []string) {
		at, err := time.Parse(time.DateOnly, since)
		require.NoError(t, err)
		got, err := in.reader().Deliveries(t.Context(), at, limit)
		require.NoError(t, err)
		for _, d := range got {
			list = append(list, strings.Join([]string{d.RunID, d.Delivery.Delivery, d.Topic}, " "))
		}
		return list
	}
	require.Equal(t, []string{"r d1 claims", "r d1 others", "r d2 claims", "live  claims"}, names("0001-01-01", 10))
	require.Equal(t, []string{"r d1 claims", "r d1 others"}, names("0001-01-01", 1))
	require.Equal(t, []string{"r d1 claims", "r d1 others", "r d2 claims"}, names("2026-02-02", 10))
	require.Empty(t, names("2026-03-04", 10))

	got, err := in.reader().Deliveries(t.Context(), time.Time{}, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, got[0].Applied)
	require.EqualValues(t, 2, got[1].Applied)
}

func TestHalts_NameThePartitionAndTheReason(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	in.acquire(l, "claims", 0)
	source := in.acquire(l, "claims", 1)
	require.NoError(t, l.Halt(t.Context(), source.id, source.owner, HaltLedgerBehind, "why"))
	halts, err := in.reader().Halts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Halt{{TopicID: topicID("claims"), Partition: 1, Reason: HaltLedgerBehind}}, halts)
}

// However many rows a ledger has: it isn't even asked.
func TestReader_NeverLooksAtALedger(t *testing.T) {
	in := newInstallation(t)
	in.acquire(in.open(), "claims", 0).commit(delivered(newClaim("A"), "r", "d"))
	r := in.reader()
	in.exec("REVOKE SELECT ON sales_ledger FROM " + quoted(in.setup.WorkerRole))
	_, err := r.Run(t.Context(), "r")
	require.NoError(t, err)
	_, err = r.Deliveries(t.Context(), time.Time{}, 10)
	require.NoError(t, err)
}

func TestReader_CannotWrite(t *testing.T) {
	in := newInstallation(t)
	_, err := in.reader().conn.Exec(t.Context(), "INSERT INTO gap (source, from_offset, to_offset, reason) VALUES (1, 0, 1, '')")
	require.ErrorContains(t, err, "read-only")
}

func TestOpenReader_SaysInOneLineWhatIsWrong(t *testing.T) {
	in := newInstallation(t)
	for name, c := range map[string]struct {
		change func(*ReaderOptions)
		want   string
	}{
		"no address":      {func(o *ReaderOptions) { o.URL = "" }, "URL is empty"},
		"no such role":    {func(o *ReaderOptions) { o.Role = "nobody_at_all" }, "run: tieout setup"},
		"no such schema":  {func(o *ReaderOptions) { o.Schema = "nowhere_at_all" }, "run: tieout setup"},
		"a name it isn't": {func(o *ReaderOptions) { o.Schema = "No Schema" }, "Schema is"},
	} {
		t.Run(name, func(t *testing.T) {
			o := in.readerOptions()
			c.change(&o)
			_, err := OpenReader(t.Context(), o)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
