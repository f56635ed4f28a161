package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tieout/tieout/pkg/settle"
)

// Poison is a record that the ledger refuses for itself. It's found by trying
// parts of the batch in transactions that are rolled back, and dead-lettered
// alone. Any other error meanwhile convicts nobody.

// maxRefused is how many records may be refused before any passes. Where there
// are more, it's the ledger that is wrong, and not they.
const maxRefused = 100

// searchTime bounds one search: whoever commits has other partitions to care
// for. What was found is kept, so that the next try goes on from there.
const searchTime = 2 * time.Second

// rare is how many refused records of a batch are taken for strays: after each
// of them, the rest is tried at once. After more, the next one is looked for
// nearby.
const rare = 2

// errSearchOver ends a search whose time is up.
var errSearchOver = errors.New("the search for poison took its time")

// A Poison is what is known so far of the refused records of one batch. The
// caller keeps it beside the batch between tries; its zero value knows nothing.
type Poison struct {
	refused map[int]*settle.Failure // by entry
	entries int                     // of the batch for which the rest holds

	// The search stands between passes, how many of the first rows are known to
	// pass, and fails, how many are known to be refused; cause is why, nil while
	// there is no such number. step is how many more are tried next.
	passes, fails, step int
	cause               *refusedError
	open                bool
}

// resume makes what is known fit the batch in hand, and takes the refused rows
// out of its stage. A batch that grew keeps the refused and begins its search
// again.
func (p *Poison) resume(entries int, s *stage) {
	if p.entries != entries {
		*p = Poison{refused: p.refused, entries: entries}
	}
	for i := len(s.rows) - 1; i >= 0; i-- {
		if p.refused[s.rows[i].entry] != nil {
			s.remove(i)
		}
	}
}

// found notes a culprit and begins the search for the next one behind it.
func (p *Poison) found(culprit, entry int, why *settle.Failure) {
	if p.refused == nil {
		p.refused = make(map[int]*settle.Failure)
	}
	p.refused[entry] = why
	p.passes, p.fails, p.step, p.cause = culprit, 0, 0, nil
}

// A refusedError is an error that one row's data can have caused.
type refusedError struct {
	cause *pgconn.PgError
	err   error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// refusal marks an error that rows met on their way into the ledger, where it
// can be one row's own.
func (l *Ledger) refusal(err error) error {
	if pg := postgresError(err); pg != nil && isRecordsFault(pg, l.opts.Table.Name) {
		return &refusedError{cause: pg, err: err}
	}
	return err
}

// convict finds every posting that the ledger refuses and takes it out of the
// stage. Where none is found, what the batch met has passed, and convicts nobody.
func (c *committing) convict(ctx context.Context, met *refusedError) error {
	p := c.poison
	convicted := len(p.refused)
	p.open = true
	for over := time.Now().Add(searchTime); ; {
		culprit, cause, err := c.search(ctx, over)
		switch {
		case errors.Is(err, errSearchOver):
			return &PoisonedBatchError{Source: c.batch.Source, Found: len(p.refused), Cause: err}
		case err != nil:
			return c.failed(ctx, err)
		case cause == nil:
			p.open = false
			if len(p.refused) == convicted && met != nil {
				return c.failed(ctx, met)
			}
			return nil
		}
		if err := c.refuse(culprit, cause); err != nil {
			return err
		}
	}
}

// refuse takes a row out of the stage, to be a dead letter.
func (c *committing) refuse(culprit int, cause *refusedError) error {
	p := c.poison
	p.found(culprit, c.stage.rows[culprit].entry, refusedFailure(cause.cause))
	c.stage.remove(culprit)
	if len(c.stage.rows) == 0 || p.passes == 0 && len(p.refused) > maxRefused {
		refused := len(p.refused)
		*p = Poison{} // the ledger is at fault, and they are innocent
		return &RefusedBatchError{Source: c.batch.Source, Refused: refused, Postings: c.postings, Cause: cause}
	}
	return nil
}

// search finds the next row that's refused, by how many rows from the very first
// on still pass. That finds it also where it's refused only because of a row
// before it. Without a cause there is none.
func (c *committing) search(ctx context.Context, over time.Time) (culprit int, cause *refusedError, err error) {
	p, rows := c.poison, len(c.stage.rows)
	if p.step == 0 {
		p.step = rows
		if len(p.refused) >= rare {
			p.step = 1
		}
	}
	for p.cause == nil {
		try := min(p.passes+p.step, rows)
		switch cause, err = c.probe(ctx, try, over); {
		case err != nil:
			return 0, nil, err
		case cause != nil:
			p.fails, p.cause = try, cause
		case try == rows:
			return 0, nil, nil
		default:
			p.passes, p.step = try, 2*p.step
		}
	}
	for p.fails-p.passes > 1 {
		half := p.passes + (p.fails-p.passes)/2
		switch found, err := c.probe(ctx, half, over); {
		case err != nil:
			return 0, nil, err
		case found == nil:
			p.passes = half
		default:
			p.fails, p.cause = half, found
		}
	}
	return p.fails - 1, p.cause, nil
}

// probe tries the first rows and rolls back. It returns why they're refused, or
// nil where they aren't.
func (c *committing) probe(ctx context.Context, rows int, over time.Time) (refused *refusedError, err error) {
	if time.Now().After(over) {
		return nil, errSearchOver
	}
	err = c.ledger.retrying(ctx, "search for poison", func() error {
		t, err := c.ledger.begin(ctx)
		if err != nil {
			return err
		}
		defer t.close(ctx)
		_, _, err = t.post(ctx, c.stage, rows, c.batch.Source, c.rules)
		return err
	})
	if errors.As(err, &refused) {
		return refused, nil
	}
	return nil, err
}

// refusedFailure says why a record is a dead letter, in Postgres' own words but
// without the row, which the dead letter has whole.
func refusedFailure(pg *pgconn.PgError) *settle.Failure {
	field := pg.ColumnName
	if field == "" {
		field = pg.ConstraintName
	}
	return settle.Structural(settle.ReasonRefusedByLedger, field, "").
		WithDetail("%s (SQLSTATE %s)", pg.Message, pg.Code)
}
