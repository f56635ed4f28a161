package trades

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/settle/settletest"
)

// A tradeLedger is the stream's ledger in Postgres, with one source.
type tradeLedger struct {
	ledger *ledger.Ledger
	conn   *pgx.Conn // the superuser's
	batch  ledger.Batch
}

func openLedger(t *testing.T) *tradeLedger { return openLedgerThat(t, settle.Reject) }

func openLedgerThat(t *testing.T, does settle.SameVersion) *tradeLedger {
	t.Helper()
	table := New().Table()
	table.SameVersion = does
	url, schema := devstack.TestDatabase(t), devstack.TestSchema(t)
	_, err := ledger.Migrate(t.Context(), ledger.MigrateOptions{
		URL: url, Schema: schema, OwnerRole: schema + "_owner", WorkerRole: schema + "_worker",
	})
	require.NoError(t, err)
	l := &tradeLedger{batch: ledger.Batch{Owner: ledger.Token{1}}}
	l.ledger, err = ledger.Open(t.Context(), ledger.Options{
		URL: url, Schema: schema, Role: schema + "_worker", ConsumerGroup: "etrm.trades", Stream: "trades", Table: table,
	})
	require.NoError(t, err)
	t.Cleanup(l.ledger.Close)
	require.NoError(t, l.ledger.RegisterRules(t.Context(), ledger.Rules{BinaryVersion: "test"}))
	progress, err := l.ledger.Acquire(t.Context(), ledger.AcquireRequest{Topic: "etrm.trades", Owner: l.batch.Owner, GroupOffset: -1})
	require.NoError(t, err)
	l.batch.Source = progress.Source

	l.conn, err = pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.conn.Close(context.Background()) })
	_, err = l.conn.Exec(t.Context(), "SET search_path = "+pgx.Identifier{schema}.Sanitize())
	require.NoError(t, err)
	return l
}

// commit settles records and commits them as one batch.
func (l *tradeLedger) commit(t *testing.T, arrivals ...*arrival) []*settle.Entry {
	t.Helper()
	require.NoError(t, l.tryCommit(arrivals...))
	return l.batch.Entries
}

func (l *tradeLedger) tryCommit(arrivals ...*arrival) error {
	l.batch.Entries = nil
	l.batch.From, l.batch.Next = l.batch.Next, l.batch.Next+int64(len(arrivals))
	for i, a := range arrivals {
		if err := a.Seal(); err != nil {
			return err
		}
		a.Record.Offset = l.batch.From + int64(i)
		e := &settle.Entry{Record: a.Record, Delivery: settle.Delivery{RunID: settle.LiveRun}}
		e.Posting, e.Failure = a.Settle()
		l.batch.Entries = append(l.batch.Entries, e)
	}
	return l.ledger.Commit(context.Background(), &l.batch)
}

// lines reads a query's rows, each as one text.
func (l *tradeLedger) lines(t *testing.T, query string, args ...any) []string {
	t.Helper()
	rows, err := l.conn.Query(t.Context(), query, args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

func versionOf(t *testing.T, tradeID string, version int64, mwh string) *arrival {
	t.Helper()
	a := goodArrival(t)
	a.Envelope.TradeID, a.Envelope.Version = tradeID, version
	a.Envelope.MWh, a.Envelope.Price = settletest.Unscaled(t, mwh), settletest.Unscaled(t, "1")
	return a
}

func TestLedger_KeepsEachColumnAsItWasWritten(t *testing.T) {
	l := openLedger(t)
	full := versionOf(t, "full", 7, "-0.123456789")
	full.Envelope.MarketRun, full.Envelope.MeterID, full.Envelope.LastModified = new("RT"), new("M-1"), new(int64(1_583_020_799_999_999))
	l.commit(t, full, versionOf(t, "bare", 0, "2.5"))
	require.Equal(t, []string{
		"bare|2019-11-03T05:00:00Z|0|0|N.Y.C.|2.500000000|1.000000000|USD|null|null|null|2.50|auto_post",
		"full|2019-11-03T05:00:00Z|7|0|N.Y.C.|-0.123456789|1.000000000|USD|RT|M-1|1583020799999999|-0.12|auto_post",
	}, l.lines(t, `SELECT concat_ws('|', trade_id, settlement_interval, version, revision, node_id, mwh, price, currency,
		coalesce(market_run, 'null'), coalesce(meter_id, 'null'), coalesce((extract(epoch FROM last_modified) * 1000000)::bigint::text, 'null'), amount, outcome)
		FROM trade_ledger_current ORDER BY trade_id`))
	require.Equal(t, []string{full.Envelope.ReconciliationKey}, l.lines(t, "SELECT reconciliation_key FROM trade_ledger_current WHERE trade_id = 'full'"))
}

func TestLedger_ASecondCopyOfAVersionIsADuplicateOrAConflict(t *testing.T) {
	l := openLedger(t)
	entries := l.commit(t,
		versionOf(t, "A", 2, "5"), versionOf(t, "A", 2, "5.0"), versionOf(t, "A", 2, "77"), versionOf(t, "A", 1, "77"), versionOf(t, "A", 2, "5"))
	entries = append(entries, l.commit(t, versionOf(t, "A", 1, "5"), versionOf(t, "A", 3, "5"))...)
	var outcomes []settle.Outcome
	for _, e := range entries {
		outcomes = append(outcomes, e.Outcome)
	}
	require.Equal(t, []settle.Outcome{
		settle.AutoPost, settle.DuplicateSkipped, settle.DeadLetter, settle.AutoPost, settle.DuplicateSkipped,
		settle.DeadLetter, settle.AutoPost,
	}, outcomes)
	require.Equal(t, `conflicting_duplicate: mwh "77": posted is 5`, entries[2].Failure.Message())
	require.Equal(t, []string{"3"}, l.lines(t, "SELECT version::text FROM trade_ledger_current"))
}

// Whatever the order in which versions arrive, and however they're batched:
// current is the newest, and the steps lead from one to the next.
func TestViews_AreRightInAnyOrderOfArrival(t *testing.T) {
	l := openLedger(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		var feed []*arrival
		var current, steps []string
		for trade := range rapid.IntRange(1, 3).Draw(rt, "trades") {
			id := fmt.Sprintf("%06d-%d", run, trade)
			versions := rapid.MapOfN(rapid.Int64Range(0, 1<<62), rapid.IntRange(-9, 9), 1, 5).Draw(rt, "versions")
			before, beforeText := 0, "null"
			for _, version := range slices.Sorted(maps.Keys(versions)) {
				mwh := versions[version]
				for range rapid.IntRange(1, 2).Draw(rt, "copies") {
					feed = append(feed, versionOf(t, id, version, fmt.Sprint(mwh)))
				}
				steps = append(steps, fmt.Sprintf("%s %d: %s to %d.00, %d.00", id, version, beforeText, mwh, mwh-before))
				before, beforeText = mwh, fmt.Sprintf("%d.00", mwh)
			}
			newest := slices.Max(slices.Collect(maps.Keys(versions)))
			current = append(current, fmt.Sprintf("%s %d: %d.00", id, newest, versions[newest]))
		}
		shuffled := rapid.Permutation(feed).Draw(rt, "feed")
		for batch := range slices.Chunk(shuffled, rapid.IntRange(1, len(feed)).Draw(rt, "batch")) {
			l.commit(t, batch...)
		}
		mine := fmt.Sprintf("%06d-%%", run)
		require.Equal(rt, current, l.lines(t, `SELECT concat(trade_id, ' ', version, ': ', amount) FROM trade_ledger_current
			WHERE trade_id LIKE $1 ORDER BY trade_id COLLATE "C"`, mine))
		require.Equal(rt, steps, l.lines(t, `SELECT concat(trade_id, ' ', version, ': ', coalesce(previous_amount::text, 'null'), ' to ', amount, ', ', delta)
			FROM trade_ledger_delta WHERE trade_id LIKE $1 ORDER BY trade_id COLLATE "C", version`, mine))
	})
}

func TestViews_ANewerVersionCountsBeforeANewerRevision(t *testing.T) {
	l := openLedger(t)
	l.commit(t, versionOf(t, "A", 2, "20"), versionOf(t, "A", 1, "10"))
	for _, revision := range []struct {
		version, revision int
		amount            money.Decimal
	}{{1, 1, money.MustParse("11")}, {2, 1, money.MustParse("21")}, {1, 2, money.MustParse("12")}} {
		_, err := l.conn.Exec(t.Context(), `INSERT INTO trade_ledger (settlement_interval, reconciliation_key, version, revision, idempotency_key, trade_id, node_id,
			mwh, price, currency, amount, outcome, run_id, delivery, correlation_id, source, source_offset, rules_id)
			SELECT settlement_interval, reconciliation_key, version, $2, idempotency_key, trade_id, node_id,
			$3, price, currency, $3, outcome, run_id, delivery, correlation_id, source, source_offset + 100, rules_id
			FROM trade_ledger WHERE version = $1 AND revision = 0`, revision.version, revision.revision, revision.amount.String())
		require.NoError(t, err)
	}
	require.Equal(t, []string{"2.1: 21.00"}, l.lines(t, "SELECT concat(version, '.', revision, ': ', amount) FROM trade_ledger_current"))
	require.Equal(t, []string{"1.0 +10.00 from .", "1.1 +1.00 from 1.0", "1.2 +1.00 from 1.1", "2.0 +8.00 from 1.2", "2.1 +1.00 from 2.0"},
		l.lines(t, `SELECT concat(version, '.', revision, ' +', delta, ' from ', previous_version, '.', previous_revision) FROM trade_ledger_delta ORDER BY version, revision`))
}
