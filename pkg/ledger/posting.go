package ledger

import (
	"context"
	"fmt"

	"github.com/tieout/tieout/pkg/settle"
)

// post copies the first rows of a stage into the session's temporary table and
// inserts them into the ledger, in order. It returns how they were placed, where
// the ledger is versioned, and the positions of those that the ledger has
// already. Until the copy is complete no lock is taken: a client that is stopped
// in the middle of COPY holds its locks through every time-out.
func (t *tx) post(ctx context.Context, s *stage, rows int, source, rules int32) (*placing, []int32, error) {
	if err := t.copyStage(ctx, s, rows); err != nil {
		return nil, nil, err
	}
	var placed *placing
	if t.ledger.opts.Table.Versioned() {
		var err error
		if placed, err = t.place(ctx, s, rows, source); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	var missed []byte
	err := t.conn.QueryRow(ctx, t.ledger.statements.insert, source, rules).Scan(&missed)
	if err != nil {
		return nil, nil, t.ledger.refusal(fmt.Errorf("insert into %s: %w", t.ledger.opts.Table.Name, err))
	}
	return placed, positions(missed), nil
}

// postNew does the same where the ledger is taken to have none of the keys. It
// fails with a unique violation where that is wrong.
func (t *tx) postNew(ctx context.Context, s *stage, source, rules int32) error {
	if err := t.copyStage(ctx, s, len(s.rows)); err != nil {
		return err
	}
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	tag, err := t.conn.Exec(ctx, t.ledger.statements.insertNew, source, rules)
	if err != nil {
		return t.ledger.refusal(fmt.Errorf("insert into %s: %w", t.ledger.opts.Table.Name, err))
	}
	if tag.RowsAffected() != int64(len(s.rows)) {
		return &UnaccountedError{Table: t.ledger.opts.Table.Name, Missed: len(s.rows) - int(tag.RowsAffected())}
	}
	return nil
}

func (t *tx) copyStage(ctx context.Context, s *stage, rows int) error {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	tag, err := t.conn.Conn().PgConn().CopyFrom(ctx, s.first(rows), t.ledger.statements.copyStage)
	if err != nil {
		return t.ledger.refusal(fmt.Errorf("copy: %w", err))
	}
	if tag.RowsAffected() != int64(rows) {
		return fmt.Errorf("copy: %d rows were sent, %d arrived", rows, tag.RowsAffected())
	}
	return nil
}

// compare judges what was not inserted, in a statement after the insert: one
// that began before it would not see the rows that the insert waited for. It
// calls conflict for each posting that differs from what is posted; the others
// are duplicates.
func (t *tx) compare(ctx context.Context, missed []int32, conflict func(position int32, f *settle.Failure)) error {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	var found int
	var answer []byte
	err := t.conn.QueryRow(ctx, t.ledger.statements.classify, missed).Scan(&found, &answer)
	if err != nil {
		return fmt.Errorf("compare with %s: %w", t.ledger.opts.Table.Name, err)
	}
	if found != len(missed) {
		return &UnaccountedError{Table: t.ledger.opts.Table.Name, Missed: len(missed), Compared: found}
	}
	differing := positions(answer)
	for len(differing) > 0 {
		part := differing[:min(len(differing), maxExplained)]
		if err := t.explain(ctx, part, conflict); err != nil {
			return err
		}
		differing = differing[len(part):]
	}
	return nil
}

// maxExplained bounds one answer, for the same reason as everything else that
// is read while locks are held: it has to fit the connection's buffers.
const maxExplained = 256

// explain names the first column in which each of these postings differs.
func (t *tx) explain(ctx context.Context, differing []int32, conflict func(position int32, f *settle.Failure)) error {
	rows, err := t.conn.Query(ctx, t.ledger.statements.explain, differing)
	if err != nil {
		return fmt.Errorf("explain conflicts: %w", err)
	}
	defer rows.Close()
	explained := 0
	for rows.Next() {
		var position int32
		var which int
		var staged, posted *string
		if err := rows.Scan(&position, &which, &staged, &posted); err != nil {
			return fmt.Errorf("explain conflicts: %w", err)
		}
		conflict(position, t.ledger.conflict(which-1, staged, posted))
		explained++
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("explain conflicts: %w", err)
	}
	if explained != len(differing) {
		return &UnaccountedError{Table: t.ledger.opts.Table.Name, Missed: len(differing), Compared: explained}
	}
	return nil
}

// conflict makes the failure of a copy that differs from what is posted in one
// of the compared columns.
func (l *Ledger) conflict(which int, staged, posted *string) *settle.Failure {
	reason := settle.ReasonConflictingDuplicate
	if which < len(l.opts.Table.Pinned) {
		reason = settle.ReasonVersionConflict
	}
	column := comparedColumns(&l.opts.Table)[which]
	return settle.Business(reason, column, textOf(staged)).WithDetail("posted is %s", textOf(posted))
}

func textOf(value *string) string {
	if value == nil {
		return "null"
	}
	return *value
}
