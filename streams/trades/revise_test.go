package trades

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

const allRows = `SELECT concat_ws(' ', trade_id, version, revision, amount, coalesce(prev_version::text, '-'), coalesce(prev_amount::text, '-'))
	FROM trade_ledger ORDER BY trade_id, version, revision`

func outcomesOf(entries []*settle.Entry) (outcomes []settle.Outcome) {
	for _, e := range entries {
		outcomes = append(outcomes, e.Outcome)
	}
	return outcomes
}

func TestPrevious_IsTheNewestPostedBefore(t *testing.T) {
	l := openLedger(t)
	entries := l.commit(t,
		versionOf(t, "A", 2, "2"), versionOf(t, "A", 2, "2"), versionOf(t, "A", 5, "5"), versionOf(t, "A", 3, "3"), versionOf(t, "B", 1, "1"))
	l.commit(t, versionOf(t, "A", 4, "4"), versionOf(t, "A", 6, "6"), versionOf(t, "A", 7, "7"), versionOf(t, "B", 2, "2"), versionOf(t, "B", 1, "1"))
	require.Equal(t, []string{
		"A 2 0 2.00 - -",
		"A 3 0 3.00 5 5.00",
		"A 4 0 4.00 5 5.00",
		"A 5 0 5.00 2 2.00",
		"A 6 0 6.00 5 5.00",
		"A 7 0 7.00 6 6.00",
		"B 1 0 1.00 - -",
		"B 2 0 2.00 1 1.00",
	}, l.lines(t, allRows))
	require.Equal(t, int64(2), *entries[2].Posting.PrevVersion, "the outcome says it, too")
	require.Equal(t, "2.00", entries[2].Posting.PrevAmount.Decimal.String())
	require.Nil(t, entries[0].Posting.PrevVersion)
}

// A, B, A stays at B: economics that any revision had are a duplicate, and a
// return needs a new version.
func TestRevise_OtherEconomicsBecomeTheNextRevision(t *testing.T) {
	for name, batches := range map[string]int{"one batch": 1, "a batch each": 5} {
		t.Run(name, func(t *testing.T) {
			l := openLedgerThat(t, settle.Revise)
			feed := []*arrival{
				versionOf(t, "A", 1, "10"), versionOf(t, "A", 1, "20"), versionOf(t, "A", 1, "10.0"), versionOf(t, "A", 1, "30"), versionOf(t, "A", 1, "20"),
			}
			var entries []*settle.Entry
			for each := len(feed) / batches; len(feed) > 0; feed = feed[each:] {
				entries = append(entries, l.commit(t, feed[:each]...)...)
			}
			require.Equal(t, []settle.Outcome{
				settle.AutoPost, settle.AutoPost, settle.DuplicateSkipped, settle.AutoPost, settle.DuplicateSkipped,
			}, outcomesOf(entries))
			require.Equal(t, []string{"A 1 0 10.00 - -", "A 1 1 20.00 1 10.00", "A 1 2 30.00 1 20.00"}, l.lines(t, allRows))
			require.Equal(t, []string{"2 30.00"}, l.lines(t, "SELECT revision || ' ' || amount FROM trade_ledger_current"))
			require.Equal(t, int32(2), entries[3].Posting.Revision, "the outcome says it, too")
		})
	}
}

// What was settled by another worker is rebuilt as it is recorded: whichever
// revision a record became, and whichever it's a copy of.
func TestRevise_EachRecordIsFoundAgain(t *testing.T) {
	l := openLedgerThat(t, settle.Revise)
	entries := l.commit(t,
		versionOf(t, "A", 1, "10"), versionOf(t, "A", 1, "20"), versionOf(t, "A", 1, "10"), versionOf(t, "A", 1, "20"), versionOf(t, "A", 2, "20"))
	recorded, err := l.ledger.Recorded(t.Context(), l.batch.Source, entries)
	require.NoError(t, err)
	var kinds []string
	for _, r := range recorded {
		kinds = append(kinds, fmt.Sprintf("%s %d/%d", r.Kind, r.Posting.Version, r.Posting.Revision))
	}
	require.Equal(t, []string{"posting 1/0", "posting 1/1", "duplicate 0/0", "duplicate 0/0", "posting 2/0"}, kinds)
}

// Within one source the order is that of the offsets.
func TestRevise_ARecordOlderThanAPostedOneIsSuperseded(t *testing.T) {
	l := openLedgerThat(t, settle.Revise)
	l.commit(t, versionOf(t, "A", 1, "10"), versionOf(t, "A", 1, "20"))
	_, err := l.conn.Exec(t.Context(), `ALTER TABLE trade_ledger DISABLE TRIGGER ALL;
		UPDATE trade_ledger SET source_offset = 1000 WHERE revision = 1; ALTER TABLE trade_ledger ENABLE ALWAYS TRIGGER append_only`)
	require.NoError(t, err)
	entries := l.commit(t, versionOf(t, "A", 1, "30"))
	require.Equal(t, settle.DeadLetter, entries[0].Outcome)
	require.Equal(t, settle.ReasonSuperseded, entries[0].Failure.Reason)
}

// Two sources that revise the same version at the same time: each revision is
// numbered once, and none is lost.
func TestRevise_TwoSourcesAtOnce(t *testing.T) {
	l := openLedgerThat(t, settle.Revise)
	other := ledger.Batch{Owner: ledger.Token{2}}
	progress, err := l.ledger.Acquire(t.Context(), ledger.AcquireRequest{Topic: "etrm.trades", Partition: 1, Owner: other.Owner, GroupOffset: -1})
	require.NoError(t, err)
	other.Source = progress.Source
	second := &tradeLedger{ledger: l.ledger, conn: l.conn, batch: other}
	const rounds = 20
	var others []*arrival
	for i := range rounds {
		others = append(others, versionOf(t, "A", 1, fmt.Sprint(1000+i)))
	}
	done := make(chan error, 1)
	go func() {
		for _, other := range others {
			if err := second.tryCommit(other); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range rounds {
		l.commit(t, versionOf(t, "A", 1, fmt.Sprint(2000+i)))
	}
	require.NoError(t, <-done)
	require.Equal(t, []string{fmt.Sprintf("%d 0 %d", 2*rounds, 2*rounds-1)},
		l.lines(t, "SELECT concat_ws(' ', count(DISTINCT mwh), min(revision), max(revision)) FROM trade_ledger"))
}

// However a feed is cut into batches, it comes to what taking the records one by
// one comes to.
func TestRevise_BatchesChangeNothing(t *testing.T) {
	whole, single := openLedgerThat(t, settle.Revise), openLedgerThat(t, settle.Revise)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		size := rapid.IntRange(1, 12).Draw(rt, "records")
		var feed, again []*arrival
		for range size {
			id := fmt.Sprintf("%06d-%d", run, rapid.IntRange(1, 2).Draw(rt, "trade"))
			version, mwh := rapid.Int64Range(1, 3).Draw(rt, "version"), fmt.Sprint(rapid.IntRange(1, 3).Draw(rt, "mwh"))
			feed, again = append(feed, versionOf(t, id, version, mwh)), append(again, versionOf(t, id, version, mwh))
		}
		want := outcomesOf(whole.commit(t, feed...))
		var got []settle.Outcome
		for _, a := range again {
			got = append(got, outcomesOf(single.commit(t, a))...)
		}
		require.Equal(rt, want, got)
		this := fmt.Sprintf("%06d-%%", run)
		const rows = `SELECT concat_ws(' ', trade_id, version, revision, amount, coalesce(prev_version::text, '-'), coalesce(prev_amount::text, '-'))
			FROM trade_ledger WHERE trade_id LIKE $1 ORDER BY trade_id, version, revision`
		require.Equal(rt, single.lines(t, rows, this), whole.lines(t, rows, this))
	})
}
