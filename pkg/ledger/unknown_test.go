package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

func TestUnknownCommit_ThatTheServerGotIsFoundCommitted(t *testing.T) {
	in := newInstallation(t)
	p := in.newProxy()
	source := in.acquire(in.open(p.through(in)), "claims", 0)
	source.commit(newClaim("A"))
	p.fault.Store(faultDropReply)
	entries := []*settle.Entry{newClaim("A"), newClaim("B"), failing(settle.Structural(settle.ReasonUndecodable, "", ""))}
	source.commit(entries...)
	require.EqualValues(t, 1, p.lost.Load())
	require.Equal(t, []settle.Outcome{settle.DuplicateSkipped, settle.AutoPost, settle.DeadLetter}, outcomes(entries))
	require.Equal(t, 2, in.count(in.setup.Schema+".sales_ledger"))
}

func TestUnknownCommit_ThatTheServerNeverGotIsNotCommitted(t *testing.T) {
	in := newInstallation(t)
	p := in.newProxy()
	source := in.acquire(in.open(p.through(in)), "claims", 0)
	p.fault.Store(faultSwallow)
	b := source.batch(newClaim("A"))
	var not *NotCommittedError
	require.ErrorAs(t, source.ledger.Commit(t.Context(), b), &not)
	require.EqualValues(t, 1, p.lost.Load())
	requireNothing(t, in, b)
	source.commit(b.Entries...)
}

func TestCommit_AnOutageIsOneLineAndNothingIsCommitted(t *testing.T) {
	in := newInstallation(t)
	p := in.newProxy()
	source := in.acquire(in.open(p.through(in)), "claims", 0)
	p.close()
	b := source.batch(newClaim("A"))
	err := source.ledger.Commit(t.Context(), b)
	if err != nil && !strings.Contains(err.Error(), "connection refused") {
		err = source.ledger.Commit(t.Context(), b) // the first one finds the pool's connection broken
	}
	var not *NotCommittedError
	require.ErrorAs(t, err, &not)
	require.ErrorContains(t, err, "connection refused")
	require.True(t, MayCome(err))
	require.NotContains(t, err.Error(), "\n")
	requireNothing(t, in, b)
	_, err = source.ledger.ProgressRows(t.Context())
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "\n")
	require.Error(t, source.ledger.Ping(t.Context()))
}

// A plain reading would see the row as it was and have the batch committed
// twice, or lost.
func TestUnknownCommit_TheReadingWaitsForTheOldBackend(t *testing.T) {
	in := newInstallation(t)
	p := in.newProxy()
	p.late = 300 * time.Millisecond
	source := in.acquire(in.open(p.through(in)), "claims", 0)
	p.fault.Store(faultLate)
	began := time.Now()
	source.commit(newClaim("A"))
	require.GreaterOrEqual(t, time.Since(began), p.late)
	require.EqualValues(t, 1, p.lost.Load())
	require.Equal(t, 1, in.count(in.setup.Schema+".sales_ledger"))
}

// The reading outlasts lock time-outs: the old backend is ended for idleness.
func TestUnknownCommit_TheReadingOutlastsABackendThatTakesItsClientForAlive(t *testing.T) {
	in := newInstallation(t)
	p := in.newProxy()
	source := in.acquire(in.open(p.through(in), func(o *Options) {
		o.LockTimeout, o.IdleInTransactionTimeout = 100*time.Millisecond, 400*time.Millisecond
	}), "claims", 0)
	p.fault.Store(faultHang)
	b := source.batch(newClaim("A"))
	var not *NotCommittedError
	require.ErrorAs(t, source.ledger.Commit(t.Context(), b), &not)
	requireNothing(t, in, b)
}

func TestUnknownCommit_StaysUnknownWhereTheContextEnds(t *testing.T) {
	in := newInstallation(t)
	p := in.newProxy()
	p.late = 500 * time.Millisecond
	source := in.acquire(in.open(p.through(in)), "claims", 0)
	p.fault.Store(faultLate)
	b := source.batch(newClaim("A"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var unknown *UnknownCommitError
	require.ErrorAs(t, source.ledger.Commit(ctx, b), &unknown)
	require.EqualValues(t, 1, unknown.Next)
	require.Empty(t, b.Entries[0].Outcome)
}

func TestUnknownCommit_StaysUnknownWhereTheContextHasEnded(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var unknown *UnknownCommitError
	require.ErrorAs(t, source.committing(newClaim("A")).resolve(ctx, errUnknownCommit), &unknown)
	require.ErrorIs(t, unknown, context.Canceled)
}

func TestUnknownCommit_IsFencedWhereAnotherHasTheSource(t *testing.T) {
	in := newInstallation(t)
	p := in.newProxy()
	source := in.acquire(in.open(p.through(in)), "claims", 0)
	successor := in.open()
	for _, fault := range []int32{faultSwallow, faultDropReply} {
		source = in.acquire(source.ledger, "claims", 0)
		// The successor takes the source as soon as the old backend is gone.
		taken := make(chan error)
		go func() {
			for p.lost.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			_, err := successor.Acquire(t.Context(), in.request("claims"))
			taken <- err
		}()
		c := source.committing(newClaim("A"))
		held, err := source.ledger.begin(t.Context())
		require.NoError(t, err)
		v, err := c.judge(t.Context(), held)
		require.NoError(t, err)
		require.NoError(t, c.settle(t.Context(), held, v))
		p.fault.Store(fault)
		cause := held.commit(t.Context())
		held.close(t.Context())
		require.ErrorIs(t, cause, errUnknownCommit)
		require.NoError(t, <-taken)
		var fenced *FencedError
		require.ErrorAs(t, c.resolve(t.Context(), cause), &fenced)
		require.False(t, fenced.OwnerNull)
		p.lost.Store(0)
	}
}

// The fate of a COMMIT is never read from whether pgx calls an error safe to
// retry, and one that's unknown is never tried again.
func TestCommit_OnlyThreeAnswersAreCertain(t *testing.T) {
	certain := []error{
		&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23505"},
		&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: stateSerializationFailure},
		&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: stateIdleInTransaction},
	}
	unknown := []error{
		errors.New("conn closed"), context.DeadlineExceeded,
		&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"},
		&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: stateSerializationFailure},
	}
	for _, err := range certain {
		require.True(t, isCertain(err), err)
	}
	for _, err := range unknown {
		require.False(t, isCertain(err), err)
		require.False(t, isContention(errors.Join(errUnknownCommit, err)), err)
	}
}

// COMMIT of a transaction that has failed answers ROLLBACK, without an error.
func TestCommit_AnAnswerOfRollbackIsNotCommitted(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	defer held.close(t.Context())
	_, err = held.conn.Exec(t.Context(), "SELECT 1/0")
	require.Error(t, err)
	require.ErrorIs(t, held.commit(t.Context()), pgx.ErrTxCommitRollback)
}

func TestCommit_ATransactionThatWasIdleForTooLongIsNotCommitted(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) { o.IdleInTransactionTimeout = 50 * time.Millisecond })
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	defer held.close(t.Context())
	time.Sleep(200 * time.Millisecond)
	err = held.commit(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, errUnknownCommit)
}

// A deferred constraint fails at COMMIT itself.
func TestCommit_AnErrorInAnswerToCommitIsNotCommitted(t *testing.T) {
	in := newInstallation(t)
	in.exec("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'late'; END $$")
	in.exec("CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON run_counter DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()")
	source := in.acquire(in.open(), "claims", 0)
	b := source.batch(newClaim("A"))
	var not *NotCommittedError
	require.ErrorAs(t, source.ledger.Commit(t.Context(), b), &not)
	require.ErrorContains(t, not, "late")
	requireNothing(t, in, b)
}
