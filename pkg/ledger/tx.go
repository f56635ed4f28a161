package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A tx is one transaction of a worker. Whatever the isolation is by default
// here, it's READ COMMITTED: a later statement has to see what others committed
// while an earlier one waited for them. A database that is read-only by default
// stays so: somebody has a reason, and the partition waits.
type tx struct {
	ledger *Ledger
	conn   *pgxpool.Conn
	open   bool
}

// begin takes a connection and begins a transaction on it. It's over with
// commit or close, and close is always called.
func (l *Ledger) begin(ctx context.Context) (*tx, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return nil, l.plain(err)
	}
	t := &tx{ledger: l, conn: conn, open: true}
	if _, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
		t.close(ctx)
		return nil, err
	}
	return t, nil
}

// close rolls back what isn't committed and gives the connection back. One that
// can't be rolled back is closed by the pool, and so by the server.
func (t *tx) close(ctx context.Context) {
	if t.open && !t.conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), roundTripGrace)
		_, err := t.conn.Exec(ctx, "ROLLBACK")
		cancel()
		if err != nil {
			closeConn(ctx, t.conn.Conn())
		}
	}
	t.open = false
	t.conn.Release()
}

// errUnknownCommit marks an error after which a transaction may be committed
// or not.
var errUnknownCommit = errors.New("no answer to COMMIT")

// commit sends COMMIT. An error is errUnknownCommit unless it's certain that
// nothing was committed.
func (t *tx) commit(ctx context.Context) error {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return ctx.Err() // not sent
	}
	tag, err := t.conn.Exec(ctx, "COMMIT")
	t.open = false
	switch {
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil:
		return pgx.ErrTxCommitRollback
	case isCertain(err):
		return err
	}
	return fmt.Errorf("%w: %w", errUnknownCommit, err)
}

// isCertain tells whether an error in answer to COMMIT says that there is none:
// the server refused it while the connection lived on, or had rolled back for
// idleness before. pgx's SafeToRetry says nothing about it.
func isCertain(err error) bool {
	pg := postgresError(err)
	return pg != nil && (pg.SeverityUnlocalized == "ERROR" || pg.Code == stateIdleInTransaction)
}
