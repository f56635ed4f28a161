package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// An ownerRow is who may move a source, and where it stands.
type ownerRow struct {
	next  int64
	owner *Token // nil: nobody
}

// readOwner reads a source's progress row; lock is empty or FOR UPDATE, which
// waits for whoever is about to change it.
func readOwner(ctx context.Context, q querier, source int32, lock string) (ownerRow, error) {
	var row ownerRow
	var owner pgtype.UUID
	err := q.QueryRow(ctx, "SELECT next_offset, owner FROM progress WHERE source = $1 "+lock, source).Scan(&row.next, &owner)
	if owner.Valid {
		token := Token(owner.Bytes)
		row.owner = &token
	}
	return row, err
}

func (r ownerRow) isOwnedBy(owner Token) bool { return r.owner != nil && *r.owner == owner }

// fenced makes the error for a row that couldn't be moved.
func (r ownerRow) fenced(source int32) error {
	return &FencedError{Source: source, OwnerNull: r.owner == nil, NextOffset: r.next}
}

// checkFence tells whether a batch's source is no longer its owner's; nil where
// it still is, or where that can't be found out.
func (l *Ledger) checkFence(ctx context.Context, b *Batch) error {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	row, err := readOwner(ctx, l.pool, b.Source, "")
	if err != nil || row.isOwnedBy(b.Owner) && row.next == b.From {
		return nil
	}
	return row.fenced(b.Source)
}

// resolve finds out what became of a COMMIT that had no answer. The reading is
// on another connection and FOR UPDATE, so that it waits for the old backend: a
// plain one could still see the row as it was. nil means committed.
func (c *committing) resolve(ctx context.Context, cause error) error {
	b := c.batch
	c.ledger.log.WarnContext(ctx, "COMMIT had no answer, reading the progress row", "source", b.Source, "next_offset", b.Next, "error", cause)
	var row ownerRow
	err := c.ledger.untilDone(ctx, func() (err error) {
		ctx, cancel := c.ledger.bounded(ctx)
		defer cancel()
		row, err = readOwner(ctx, c.ledger.pool, b.Source, "FOR UPDATE")
		return err
	})
	switch {
	case err != nil:
		return &UnknownCommitError{Source: b.Source, Next: b.Next, Cause: fmt.Errorf("%w; the row: %w", cause, err)}
	case !row.isOwnedBy(b.Owner):
		// Whoever has it now goes on from where it stands, with our batch or not.
		return row.fenced(b.Source)
	case row.next == b.Next && b.Next != b.From:
		return nil
	case row.next == b.From:
		return &NotCommittedError{Source: b.Source, Cause: cause}
	}
	return row.fenced(b.Source)
}
