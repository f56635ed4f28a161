package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tieout/tieout/pkg/settle"
)

// Commit settles a batch: postings, dead letters, counters and the offset, in
// one transaction. When it returns nil, and only then, the entries have their
// outcomes. The errors are FencedError, NotCommittedError, UnknownCommitError,
// PoisonedBatchError, RefusedBatchError, and BatchError, RowError and ErrNoRules for what was never
// a batch.
//
// ctx bounds the whole; one that ends cuts a COMMIT that is under way, so a stop
// must not end it.
func (l *Ledger) Commit(ctx context.Context, b *Batch) error {
	if err := b.check(); err != nil {
		return err
	}
	rules := l.rulesID.Load()
	if rules == 0 {
		return ErrNoRules
	}
	s := l.takeStage()
	if err := s.encode(b.Entries); err != nil {
		return err
	}
	c := &committing{ledger: l, batch: b, rules: rules, stage: s, postings: len(s.rows), poison: b.Poison}
	if c.poison == nil {
		c.poison = new(Poison)
	}
	c.poison.resume(len(b.Entries), s)
	// A versioned table's rows are numbered first, by what the ledger has.
	c.news = !l.opts.Table.Versioned() && l.news.expects(b.Source) && !s.hasCopies()
	if err := c.run(ctx); err != nil {
		return err // the stage isn't kept: a broken connection may still read it
	}
	l.keepStage(s)
	return nil
}

// A committing is one batch on its way into the ledger.
type committing struct {
	ledger *Ledger
	batch  *Batch
	rules  int32

	news     bool   // the ledger is taken to have none of the keys
	met      bool   // it has some
	stage    *stage // the postings that the ledger hasn't refused
	postings int    // how many there were
	poison   *Poison
}

// run tries until the batch is committed, or can't be.
func (c *committing) run(ctx context.Context) error {
	if c.poison.open {
		if err := c.convict(ctx, nil); err != nil {
			return err
		}
	}
	for {
		v, err := c.attempts(ctx)
		if errors.Is(err, errUnknownCommit) {
			err = c.resolve(ctx, err)
		}
		var refused *refusedError
		switch {
		case err == nil:
			v.apply(c.batch.Entries)
			c.ledger.news.note(c.batch.Source, c.met)
			c.logRefused(ctx)
			return nil
		case !errors.As(err, &refused):
			return c.failed(ctx, err)
		}
		if err := c.convict(ctx, refused); err != nil {
			return err
		}
	}
}

// logRefused tells of poison once its verdict is committed.
func (c *committing) logRefused(ctx context.Context) {
	for entry, f := range c.poison.refused {
		c.ledger.log.WarnContext(ctx, "the ledger refuses a record", "source", c.batch.Source,
			"offset", c.batch.Entries[entry].Record.Offset, "why", f.Message())
	}
}

// attempts tries one transaction, again as long as others are in its way.
func (c *committing) attempts(ctx context.Context) (v *verdicts, err error) {
	err = c.ledger.retrying(ctx, "commit", func() error {
		v, err = c.attempt(ctx)
		if c.news && isTaken(err, c.ledger.opts.Table.Name) {
			c.news = false // not new after all, or another's by now
			v, err = c.attempt(ctx)
		}
		return err
	})
	return v, err
}

// attempt is one transaction, whole: postings, then dead letters, counters and
// progress, which is the order in which everyone locks.
func (c *committing) attempt(ctx context.Context) (*verdicts, error) {
	t, err := c.ledger.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer t.close(ctx)
	v, err := c.judge(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := c.settle(ctx, t, v); err != nil {
		return nil, err
	}
	return v, t.commit(ctx)
}

// judge posts what can be posted and says what becomes of each entry.
func (c *committing) judge(ctx context.Context, t *tx) (*verdicts, error) {
	v := newVerdicts(c.batch.Entries, c.poison.refused)
	if len(c.stage.rows) == 0 {
		return v, nil
	}
	if c.news {
		return v, t.postNew(ctx, c.stage, c.batch.Source, c.rules)
	}
	placed, missed, err := t.post(ctx, c.stage, len(c.stage.rows), c.batch.Source, c.rules)
	if err != nil {
		return nil, err
	}
	v.place(placed, c.stage)
	switch {
	case len(missed) == 0:
		return v, nil
	case c.ledger.opts.Table.SameVersion == settle.Revise:
		return nil, errRaced // each was numbered as nobody's yet
	}
	c.met = true
	for _, position := range missed {
		v.outcomes[c.stage.rows[position].entry] = settle.DuplicateSkipped
	}
	err = t.compare(ctx, missed, func(position int32, f *settle.Failure) {
		v.fail(c.stage.rows[position].entry, f)
	})
	return v, err
}

const advance = `
UPDATE progress SET next_offset = $4, leader_epoch = $5,
	published_offset = greatest(published_offset, $6),
	published_at = CASE WHEN $6 >= published_offset THEN now() ELSE published_at END
WHERE source = $1 AND next_offset = $3 AND owner = $2`

// settle writes what follows from the verdicts: dead letters, counts, progress.
func (c *committing) settle(ctx context.Context, t *tx, v *verdicts) error {
	var dead deadLetters
	var counts counters
	for i, e := range c.batch.Entries {
		counts.add(e.Delivery, v.outcomes[i], &e.Posting.Quantity)
		if v.outcomes[i] == settle.DeadLetter {
			dead.add(e, v.failure(i, e))
		}
	}
	if len(dead.offsets) > 0 {
		if err := t.bury(ctx, &dead, c.batch.Source, c.rules); err != nil {
			return err
		}
	}
	queue := &pgx.Batch{}
	if len(c.batch.Entries) > 0 {
		counts.queue(queue, c.batch.Source)
	}
	if len(dead.offsets) > 0 {
		dead.queueDepth(queue, c.batch.Source)
	}
	b := c.batch
	queue.Queue(advance, b.Source, [16]byte(b.Owner), b.From, b.Next, b.LeaderEpoch, b.Published)
	return t.advance(ctx, queue, b.Source)
}

// advance sends the last statements, of which the very last moves the progress
// row, if it's still ours and stands where the batch begins.
func (t *tx) advance(ctx context.Context, queue *pgx.Batch, source int32) error {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	results := t.conn.SendBatch(ctx, queue)
	var last pgconn.CommandTag
	for range queue.Len() {
		last, _ = results.Exec() // Close returns the first error
	}
	if err := results.Close(); err != nil {
		return fmt.Errorf("counters and progress: %w", err)
	}
	if last.RowsAffected() == 1 {
		return nil
	}
	row, err := readOwner(ctx, t.conn, source, "")
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	return row.fenced(source)
}

// failed classes what a transaction ended with: whatever is neither known to be
// committed nor fenced nor unknown, was rolled back.
func (c *committing) failed(ctx context.Context, err error) error {
	var fenced *FencedError
	var unknown *UnknownCommitError
	var not *NotCommittedError
	switch {
	case errors.As(err, &fenced), errors.As(err, &unknown), errors.As(err, &not):
		return err
	case hasState(err, stateUniqueViolation, stateInvalidBinary, stateBadCopyFormat):
		// Nobody but the source's owner writes its rows: is that still us?
		if fence := c.ledger.checkFence(ctx, c.batch); fence != nil {
			return fence
		}
	}
	return &NotCommittedError{Source: c.batch.Source, Cause: err}
}
