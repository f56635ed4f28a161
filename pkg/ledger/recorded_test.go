package ledger

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

func (s *testSource) recorded(entries ...*settle.Entry) []Recorded {
	s.in.t.Helper()
	recorded, err := s.ledger.Recorded(s.in.t.Context(), s.id, entries)
	require.NoError(s.in.t, err)
	require.Len(s.in.t, recorded, len(entries))
	for i, r := range recorded {
		require.Equal(s.in.t, entries[i].Record.Offset, r.Offset)
	}
	return recorded
}

func kinds(recorded []Recorded) []RecordedKind {
	list := make([]RecordedKind, len(recorded))
	for i, r := range recorded {
		list[i] = r.Kind
	}
	return list
}

// fresh is an entry as it comes from the topic again.
func fresh(s *testSource, offset int64, e *settle.Entry) *settle.Entry {
	e.Record.TopicID, e.Record.Offset = s.topic, offset
	return e
}

func TestRecorded_TellsEveryKindApart(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	bad := settle.Structural(settle.ReasonUndecodable, "payload", "x").WithDetail("why")
	source.commit(
		newClaim("A"),                    // 0 posted
		newClaim("A"),                    // 1 duplicate
		newClaim("A", claims("9")),       // 2 dead letter, found by the ledger
		failing(bad),                     // 3 dead letter
		newClaim("B", claims("1.35000")), // 4 posted, disputed
	)
	in.exec("UPDATE progress SET next_offset = 7")
	in.exec("INSERT INTO gap (source, from_offset, to_offset, reason) VALUES ($1, 5, 6, 'skipped')", source.id)
	recorded := source.recorded(
		fresh(source, 0, newClaim("A")),
		fresh(source, 1, newClaim("A")),
		fresh(source, 2, newClaim("A", claims("9"))),
		fresh(source, 3, failing(settle.Structural(settle.ReasonUndecodable, "", ""))),
		fresh(source, 4, newClaim("B", claims("1.35"))),
		fresh(source, 5, newClaim("C")),
		fresh(source, 6, newClaim("D")),
	)
	require.Equal(t, []RecordedKind{
		RecordedPosting, RecordedDuplicate, RecordedDeadLetter, RecordedDeadLetter, RecordedPosting, RecordedGap, RecordedNothing,
	}, kinds(recorded))

	posting := recorded[4].Posting
	require.Equal(t, settle.Dispute, posting.Outcome)
	require.Equal(t, newClaim("B").Posting.Key, posting.Key)
	require.EqualValues(t, 8, posting.Version)
	require.Equal(t, "corr-B", posting.CorrelationID)
	require.Equal(t, "GBP", posting.Currency)
	require.Equal(t, "1.34", posting.Amount.String())
	require.True(t, posting.Claimed.Decimal.Equal(money.MustParse("1.35")))
	require.True(t, posting.Difference.Decimal.Equal(money.MustParse("0.01")))
	require.Equal(t, settle.Delivery{RunID: "december", Delivery: "01JDELIVERY"}, recorded[4].Delivery)
	require.False(t, recorded[0].Posting.Claimed.Valid)

	require.Equal(t, *bad, recorded[3].DeadLetter.Failure)
	require.Equal(t, settle.ReasonConflictingDuplicate, recorded[2].DeadLetter.Failure.Reason)
	require.Equal(t, `posted is null`, recorded[2].DeadLetter.Failure.Detail)
}

// Rules may have changed since: what is recorded is what was published.
func TestRecorded_IsNeverComputedAgain(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	source.commit(newClaim("A", claims("1.35")), failing(settle.Business(settle.ReasonInvalidPromoCode, "promo_tier", "X")))

	other := newClaim("A", claims("1.35"), func(c *claim) { c.units = money.MustParse("5") })
	other.Posting.SettlePosting(money.MustParse("99.00"), other.Posting.Claimed)
	refused := fresh(source, 0, failing(settle.Business(settle.ReasonNegativeRate, "", "")))
	for _, today := range []*settle.Entry{fresh(source, 0, other), refused} {
		recorded := source.recorded(today, fresh(source, 1, newClaim("today it can be posted")))
		require.Equal(t, []RecordedKind{RecordedPosting, RecordedDeadLetter}, kinds(recorded))
		require.Equal(t, "1.34", recorded[0].Posting.Amount.String())
		require.Equal(t, settle.Dispute, recorded[0].Posting.Outcome)
		require.Equal(t, settle.ReasonInvalidPromoCode, recorded[1].DeadLetter.Failure.Reason)
	}
}

func TestRecorded_APostingFromElsewhereIsADuplicateOrNothing(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	first, second := in.acquire(l, "claims", 0), in.acquire(l, "claims", 1)
	first.commit(newClaim("A"), newClaim("B"), newClaim("C"))
	in.exec("UPDATE progress SET next_offset = 3 WHERE source = $1", second.id)
	recorded := second.recorded(
		fresh(second, 0, newClaim("A")), // at the very offset of the first's
		fresh(second, 1, newClaim("B", func(c *claim) { c.vendor = "V253" })),
		fresh(second, 2, newClaim("C", func(c *claim) { c.agreement = 9 })),
	)
	require.Equal(t, []RecordedKind{RecordedDuplicate, RecordedNothing, RecordedNothing}, kinds(recorded))
}

// A posting that was refused can't be put beside the ledger's rows again.
func TestRecorded_FindsDeadLettersThatTheLedgerRefused(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	refused := func() *settle.Entry { return newClaim("B", func(c *claim) { c.vendor = "\xff" }) }
	source.commit(newClaim("A"), refused())
	recorded := source.recorded(fresh(source, 0, newClaim("A")), fresh(source, 1, refused()))
	require.Equal(t, []RecordedKind{RecordedPosting, RecordedDeadLetter}, kinds(recorded))
}

func TestRecordedRange_IsByCoordinatesAndInOrder(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source, other := in.acquire(l, "claims", 0), in.acquire(l, "claims", 1)
	for i := range 5 {
		source.commit(newClaim(fmt.Sprintf("A%d", i)), newClaim("A0"), failing(settle.Structural(settle.ReasonUndecodable, "", "")))
		other.commit(newClaim(fmt.Sprintf("B%d", i)))
	}
	recorded, err := l.RecordedRange(t.Context(), source.id, 3, 11)
	require.NoError(t, err)
	require.Equal(t, []RecordedKind{
		RecordedPosting, RecordedDeadLetter, RecordedPosting, RecordedDeadLetter, RecordedPosting,
	}, kinds(recorded))
	var offsets []int64
	for _, r := range recorded {
		offsets = append(offsets, r.Offset)
	}
	require.Equal(t, []int64{3, 5, 6, 8, 9}, offsets)
	require.Equal(t, newClaim("A1").Posting.Key, recorded[0].Posting.Key)
}

func TestDeadLetter_KeepsTheRecordToTheByte(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	records := []settle.Record{
		{Key: everyByte, Value: everyByte, Timestamp: time.UnixMilli(1_300_000_000_123).UTC(), Headers: []settle.Header{
			{Key: "b", Value: everyByte}, {Key: "a", Value: []byte{}}, {Key: "b", Value: nil}, {Key: "", Value: []byte("NULL")},
			{Key: `{"quoted\",}`, Value: []byte(`\x`)}, {Key: string(everyByte), Value: []byte("b")},
		}},
		{},
		{Key: []byte{}, Value: []byte{}, Timestamp: time.UnixMilli(-1).UTC()},
		{Value: []byte(strings.Repeat("v", 3<<20))},
	}
	var entries []*settle.Entry
	for i := range records {
		e := failing(settle.Structural(settle.ReasonUndecodable, "f\xff", "v\x00").WithDetail("d\xff\x00"))
		e.Record = records[i]
		entries = append(entries, e)
	}
	source.commit(entries...)
	recorded, err := l.RecordedRange(t.Context(), source.id, 0, 100)
	require.NoError(t, err)
	require.Len(t, recorded, len(records))
	for i, r := range recorded {
		d := r.DeadLetter
		want := &entries[i].Record
		require.Equal(t, settle.Coordinates{TopicID: source.topic, Partition: 0, Offset: int64(i)}, d.Coordinates)
		require.Equal(t, "claims", d.Topic)
		require.Equal(t, source.id, d.Source)
		require.Empty(t, cmp.Diff(want.Key, d.Key))
		require.True(t, bytes.Equal(want.Value, d.Value) && (want.Value == nil) == (d.Value == nil), "value %d", i)
		require.Empty(t, cmp.Diff(want.Headers, d.Headers))
		require.True(t, want.Timestamp.Equal(d.Timestamp), "%v %v", want.Timestamp, d.Timestamp)
		require.Equal(t, settle.ReasonUndecodable, d.Failure.Reason)
		require.Equal(t, "f\uFFFD", d.Failure.Field)
	}
}

// A dead letter that the ledger refused would stop its partition.
func TestDeadLetter_NoRecordIsTooStrangeForIt(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	var entries []*settle.Entry
	for _, at := range []time.Time{{}, time.UnixMilli(1<<63 - 1), time.UnixMilli(-1 << 63), time.UnixMilli(-1)} {
		e := failing(&settle.Failure{Class: settle.ClassStructural, Reason: settle.ReasonUndecodable, Detail: strings.Repeat("\xc3", 10_000)})
		e.Record.Timestamp = at
		e.Record.Headers = []settle.Header{{Key: settle.HeaderCorrelationID, Value: []byte("\xff")}}
		entries = append(entries, e)
	}
	source.commit(entries...)
	require.Equal(t, 4, in.count(in.setup.Schema+".dead_letter WHERE correlation_id = ''"))
}

func TestDeadLetter_KeepsTheCorrelationOfItsPostingOrItsHeader(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	source.commit(newClaim("A"), newClaim("A", claims("1")), failing(settle.Structural(settle.ReasonUndecodable, "", "")))
	require.Equal(t, 1, in.count(in.setup.Schema+".dead_letter WHERE correlation_id = 'corr-A' AND source_offset = 1"))
	require.Equal(t, 1, in.count(in.setup.Schema+".dead_letter WHERE correlation_id = 'corr-bad' AND source_offset = 2"))
}
