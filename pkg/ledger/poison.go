package ledger

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tieout/tieout/pkg/settle"
)

// Poison is a record that the ledger refuses for itself. It's found by trying
// parts of the batch in transactions that are rolled back, and dead-lettered
// alone. Any other error meanwhile convicts nobody.

// maxRefused bounds how many records of a batch can be poison. Where there are
// more, the ledger is what's wrong: each costs a handful of transactions.
const maxRefused = 100

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
	if c.refused == nil {
		c.refused = make(map[int]*settle.Failure)
	}
	convicted := len(c.refused)
	for acquitted := 0; ; {
		culprit, cause, err := c.search(ctx, acquitted)
		if err != nil {
			return c.failed(ctx, err)
		}
		if cause == nil {
			break
		}
		if err := c.refuse(culprit, cause); err != nil {
			return err
		}
		acquitted = culprit // the rows before it have passed
	}
	if len(c.refused) == convicted {
		return c.failed(ctx, met)
	}
	return nil
}

// refuse takes a row out of the stage, to be a dead letter.
func (c *committing) refuse(culprit int, cause *refusedError) error {
	entry := c.stage.rows[culprit].entry
	c.refused[entry] = refusedFailure(cause.cause)
	c.stage.remove(culprit)
	if len(c.stage.rows) == 0 || len(c.refused) > maxRefused {
		return &RefusedBatchError{Source: c.batch.Source, Refused: len(c.refused), Postings: c.postings, Cause: cause}
	}
	return nil
}

// rare is how many refused records of a batch are taken for strays: after each
// of them, the rest is tried at once. After more, the next one is looked for
// nearby.
const rare = 2

// search finds the first row that's refused, of those from acquitted on, by how
// many rows from the very first on still pass. That finds it also where it's
// refused only because of a row before it. Without a cause there is none.
func (c *committing) search(ctx context.Context, acquitted int) (culprit int, cause *refusedError, err error) {
	rows := len(c.stage.rows)
	passes, fails, step := acquitted, rows, rows
	if len(c.refused) >= rare {
		step = 1
	}
	for cause == nil {
		try := min(passes+step, rows)
		if cause, err = c.probe(ctx, try); err != nil {
			return 0, nil, err
		}
		switch {
		case cause != nil:
			fails = try
		case try == rows:
			return 0, nil, nil
		default:
			passes, step = try, 2*step
		}
	}
	for fails-passes > 1 {
		half := passes + (fails-passes)/2
		switch found, err := c.probe(ctx, half); {
		case err != nil:
			return 0, nil, err
		case found == nil:
			passes = half
		default:
			fails, cause = half, found
		}
	}
	return fails - 1, cause, nil
}

// probe tries the first rows and rolls back. It returns why they're refused, or
// nil where they aren't.
func (c *committing) probe(ctx context.Context, rows int) (refused *refusedError, err error) {
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
