package ledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

// waits tells whether a backend of the installation waits for a lock.
func (in *installation) waits() bool {
	return in.connections("wait_event_type = 'Lock'") > 0
}

// In one statement, insert and comparison would have a snapshot from before the
// other's commit: the rows would be neither inserted nor found.
func TestCompare_InALaterStatementSeesWhatTheInsertWaitedFor(t *testing.T) {
	in := newDatabase(t)
	conn := in.connect("")
	_, err := conn.Exec(t.Context(), "ALTER DATABASE "+conn.Config().Database+" SET default_transaction_isolation = 'serializable'")
	require.NoError(t, err)
	l := in.open()
	first, second := in.acquire(l, "fast", 0), in.acquire(l, "slow", 0)

	// The first source's transaction is held open before its COMMIT.
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	c := first.committing(newClaim("A"), newClaim("B"), newClaim("C"))
	v, err := c.judge(t.Context(), held)
	require.NoError(t, err)
	require.NoError(t, c.settle(t.Context(), held, v))

	entries := []*settle.Entry{
		newClaim("A"), newClaim("B", func(c *claim) { c.vendor = "V253" }), newClaim("C", func(c *claim) { c.agreement = 9 }), newClaim("D"),
	}
	done := make(chan error)
	go func() { done <- l.Commit(t.Context(), second.batch(entries...)) }()
	require.Eventually(t, in.waits, 5*time.Second, 5*time.Millisecond)
	require.NoError(t, held.commit(t.Context()))
	held.close(t.Context())
	require.NoError(t, <-done)
	require.Equal(t, []settle.Outcome{settle.DuplicateSkipped, settle.DeadLetter, settle.DeadLetter, settle.AutoPost}, outcomes(entries))
	require.Equal(t, settle.ReasonConflictingDuplicate, entries[1].Failure.Reason)
	require.Equal(t, settle.ReasonVersionConflict, entries[2].Failure.Reason)
}

func TestCompare_WhatTheInsertWaitedForMayBeRolledBack(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	first, second := in.acquire(l, "fast", 0), in.acquire(l, "slow", 0)
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	_, err = first.committing(newClaim("A")).judge(t.Context(), held)
	require.NoError(t, err)
	e := newClaim("A")
	done := make(chan error)
	go func() { done <- l.Commit(t.Context(), second.batch(e)) }()
	require.Eventually(t, in.waits, 5*time.Second, 5*time.Millisecond)
	held.close(t.Context())
	require.NoError(t, <-done)
	require.Equal(t, settle.AutoPost, e.Outcome)
}

// committing makes a commit that a test takes step by step.
func (s *testSource) committing(entries ...*settle.Entry) *committing {
	b := s.batch(entries...)
	stage := newStage(&s.ledger.opts.Table)
	require.NoError(s.in.t, stage.encode(b.Entries))
	return &committing{ledger: s.ledger, batch: b, rules: s.ledger.rulesID.Load(), stage: stage, postings: len(stage.rows), poison: new(Poison)}
}

func TestCommit_TriesTheWholeAgainAfterALockTimeout(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) { o.LockTimeout = 50 * time.Millisecond })
	first, second := in.acquire(l, "fast", 0), in.acquire(l, "slow", 0)
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	_, err = first.committing(newClaim("A")).judge(t.Context(), held)
	require.NoError(t, err)
	time.AfterFunc(150*time.Millisecond, func() { held.close(context.Background()) })
	e := newClaim("A")
	second.commit(newClaim("B"), e, failing(settle.Structural(settle.ReasonUndecodable, "", "")))
	require.Equal(t, settle.AutoPost, e.Outcome)
	require.Equal(t, 1, in.count(in.setup.Schema+".dead_letter"))
}

func TestCommit_GivesUpOnALockThatStays(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) { o.LockTimeout = 20 * time.Millisecond })
	first, second := in.acquire(l, "fast", 0), in.acquire(l, "slow", 0)
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	defer held.close(t.Context())
	_, err = first.committing(newClaim("A")).judge(t.Context(), held)
	require.NoError(t, err)
	b := second.batch(newClaim("A"))
	var not *NotCommittedError
	require.ErrorAs(t, l.Commit(within(t, 10*time.Second), b), &not)
	require.True(t, hasState(not, stateLockNotAvailable))
	require.Empty(t, b.Entries[0].Outcome)
}

// The other transaction takes two keys in the wrong order, which nobody of
// tieout's does: one of the two is ended as a deadlock, and tried again.
func TestCommit_TriesTheWholeAgainAfterADeadlock(t *testing.T) {
	in := newDatabase(t)
	in.superuserSet("deadlock_timeout", "'300ms'") // time to close the circle
	l := in.open()
	source := in.acquire(l, "claims", 0)
	c := source.committing(newClaim("A"), newClaim("B"))
	first, last := c.stage.rows[0].entry, c.stage.rows[1].entry

	conn := in.connect("")
	_, err := conn.Exec(t.Context(), "SET deadlock_timeout = '1min'") // the victim is ours
	require.NoError(t, err)
	other, err := conn.Begin(t.Context())
	require.NoError(t, err)
	lock := func(e *settle.Entry) error { return insertDirectly(t.Context(), other, e) }
	require.NoError(t, lock(c.batch.Entries[last]))
	done := make(chan error)
	go func() { done <- l.Commit(t.Context(), c.batch) }()
	require.Eventually(t, in.waits, 5*time.Second, 5*time.Millisecond)
	require.NoError(t, lock(c.batch.Entries[first]))
	require.NoError(t, other.Rollback(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, []settle.Outcome{settle.AutoPost, settle.AutoPost}, outcomes(c.batch.Entries))
}

// superuserSet sets what only a superuser may, for the worker's connections.
func (in *installation) superuserSet(setting, value string) {
	in.t.Helper()
	conn := in.connect("")
	_, err := conn.Exec(in.t.Context(), fmt.Sprintf("ALTER DATABASE %s SET %s = %s", conn.Config().Database, setting, value))
	require.NoError(in.t, err)
}

// insertDirectly posts a claim without a stage.
func insertDirectly(ctx context.Context, tx pgx.Tx, e *settle.Entry) error {
	c := e.Posting.Row.(*claim)
	_, err := tx.Exec(ctx, `
INSERT INTO sales_ledger VALUES ($1, $2, 0, $3, 'h', 'GOLD', $4, $5, 's', now(), 3, 0.4463, NULL, 'GBP',
	1.34, 'auto_post', 'live', '', '', 1, 0, NULL, NULL, NULL, NULL, 1, now())`, c.period, c.key[:], c.invoice, c.agreement, c.vendor)
	return err
}

func TestCommit_NeverLeavesATransactionOpen(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) { o.LockTimeout = 20 * time.Millisecond })
	source := in.acquire(l, "claims", 0)
	in.exec("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$")
	in.exec("CREATE TRIGGER fail BEFORE INSERT ON dead_letter FOR EACH ROW EXECUTE FUNCTION fail()")
	require.Error(t, l.Commit(t.Context(), source.batch(newClaim("A"), failing(settle.Structural(settle.ReasonUndecodable, "", "")))))
	_, err := l.Recorded(t.Context(), source.id, source.batch(newClaim("A")).Entries)
	require.NoError(t, err)
	source.commit(newClaim("A"))
	require.Zero(t, in.connections("state LIKE 'idle in transaction%'"))
}

func TestCommit_PartitionsInParallelCountEveryRecordOnce(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	const sources, batches, size = 4, 5, 50
	parallel(t, sources, func(ctx context.Context, i int) error {
		source := in.acquire(l, "claims", int32(i))
		for n := range batches {
			var entries []*settle.Entry
			for k := range size { // each key comes once on every source
				entries = append(entries, newClaim(fmt.Sprintf("INV-%d", (k+i*7)%size+n*size)))
			}
			b := source.batch(entries...)
			if err := l.Commit(ctx, b); err != nil {
				return err
			}
			source.next = b.Next
		}
		return nil
	})
	counts, err := l.RunCounts(t.Context(), "december")
	require.NoError(t, err)
	require.Len(t, counts, 1)
	require.Equal(t, Counts{Applied: batches * size, Skipped: (sources - 1) * batches * size}, counts[0].Counts)
	require.Equal(t, batches*size, in.count(in.setup.Schema+".sales_ledger"))
}
