package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tieout/tieout/pkg/settle"
)

// An AcquireRequest is what Kafka knows of a partition that was assigned.
type AcquireRequest struct {
	Topic       string
	TopicID     settle.TopicID
	Partition   int32
	Owner       Token // random, for this assignment
	GroupOffset int64 // -1: the group has committed none
	LogStart    int64
}

// Acquire is step 1 of the protocol: it makes Owner the source's owner and
// returns where it stands, at once, so that nobody else commits from then on.
// A source that isn't there is created, if Kafka knows nothing of it either.
// One that can't be settled is returned halted, and is nobody's. It fails with
// an OtherGroupError where the topic is another group's.
func (l *Ledger) Acquire(ctx context.Context, r AcquireRequest) (p Progress, err error) {
	err = l.retrying(ctx, "acquire", func() error {
		if p, err = l.take(ctx, &r); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		p, err = l.takeOrCreate(ctx, &r)
		return err
	})
	var other *OtherGroupError
	if err != nil && !errors.As(err, &other) {
		err = fmt.Errorf("acquire %s[%d]: %w", r.Topic, r.Partition, err)
	}
	return p, err
}

// take is the usual case, and one statement: it waits for whoever is committing
// and sees what they committed. ErrNoRows says that the case is another.
func (l *Ledger) take(ctx context.Context, r *AcquireRequest) (p Progress, err error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	err = l.pool.QueryRow(ctx, `
UPDATE progress p SET owner = $1 FROM source s
WHERE s.source = p.source AND s.topic_id = $2 AND s.partition = $3
	AND s.incarnation = (SELECT max(incarnation) FROM source WHERE topic_id = $2 AND partition = $3)
	AND p.consumer_group = $4 AND p.state = 'active' AND p.next_offset >= $5
RETURNING `+progressColumns,
		[16]byte(r.Owner), [16]byte(r.TopicID), r.Partition, l.opts.ConsumerGroup, r.GroupOffset).Scan(p.targets()...)
	return p, err
}

// takeOrCreate is every other case, in a transaction of its own.
func (l *Ledger) takeOrCreate(ctx context.Context, r *AcquireRequest) (p Progress, err error) {
	t, err := l.begin(ctx)
	if err != nil {
		return p, err
	}
	defer t.close(ctx)
	bounded, cancel := l.bounded(ctx)
	defer cancel()
	p, err = t.existing(bounded, r)
	if errors.Is(err, pgx.ErrNoRows) {
		p, err = t.create(bounded, r)
	}
	if err != nil {
		return p, err
	}
	return p, t.commit(ctx)
}

// existing takes a source that there is, or halts it. ErrNoRows says that there
// is none.
func (t *tx) existing(ctx context.Context, r *AcquireRequest) (p Progress, err error) {
	var group string
	err = t.conn.QueryRow(ctx, `
SELECT p.consumer_group, `+progressColumns+` FROM progress p JOIN source s USING (source)
WHERE s.topic_id = $1 AND s.partition = $2 ORDER BY s.incarnation DESC LIMIT 1 FOR UPDATE OF p`,
		[16]byte(r.TopicID), r.Partition).Scan(append([]any{&group}, p.targets()...)...)
	switch {
	case err != nil:
		return p, err
	case group != t.ledger.opts.ConsumerGroup:
		return p, &OtherGroupError{Topic: r.Topic, Group: group, Asked: t.ledger.opts.ConsumerGroup}
	case p.State == StateHalted:
		return p, nil
	}
	owner := any([16]byte(r.Owner))
	if r.GroupOffset > p.NextOffset {
		owner = nil
		p.State, p.Reason = StateHalted, HaltLedgerBehind
		p.Detail = fmt.Sprintf("the group has committed offset %d, the ledger has settled up to %d: it was restored from an older backup", r.GroupOffset, p.NextOffset)
	}
	_, err = t.conn.Exec(ctx, "UPDATE progress SET owner = $2, state = $3, reason = nullif($4, ''), detail = nullif($5, '') WHERE source = $1",
		p.Source, owner, string(p.State), string(p.Reason), p.Detail)
	return p, err
}

// creationLock is the first half of the advisory lock under which sources are
// created, so that two groups can't each create some of one topic's.
const creationLock = 0x7469656f // "tieo"

// create makes the source. The lock is held until the end of the transaction.
func (t *tx) create(ctx context.Context, r *AcquireRequest) (p Progress, err error) {
	_, err = t.conn.Exec(ctx, "SELECT pg_advisory_xact_lock($1, hashtext(current_schema() || '.' || $2))", int32(creationLock), r.Topic)
	if err != nil {
		return p, err
	}
	// Somebody may have been faster.
	if p, err = t.existing(ctx, r); !errors.Is(err, pgx.ErrNoRows) {
		return p, err
	}
	if err := t.checkGroup(ctx, r); err != nil {
		return p, err
	}
	recreated, err := t.formerTopicID(ctx, r)
	if err != nil {
		return p, err
	}
	p = Progress{State: StateHalted, LeaderEpoch: -1}
	switch {
	case recreated != "":
		p.Reason = HaltTopicRecreated
		p.Detail = fmt.Sprintf("the topic's id is %s, it was %s: it was deleted and created again", r.TopicID, recreated)
	case r.GroupOffset >= 0:
		p.Reason = HaltUnknownProgress
		p.Detail = fmt.Sprintf("the group has committed offset %d, the ledger has no row: the database is empty, or older", r.GroupOffset)
	default:
		p.State, p.NextOffset, p.PublishedOffset = StateActive, r.LogStart, r.LogStart
	}
	return p, t.insertSource(ctx, r, &p)
}

// checkGroup refuses a topic whose other partitions are another group's.
func (t *tx) checkGroup(ctx context.Context, r *AcquireRequest) error {
	var group string
	err := t.conn.QueryRow(ctx, `
SELECT p.consumer_group FROM progress p JOIN source s USING (source)
WHERE (s.topic = $1 OR s.topic_id = $2) AND p.consumer_group <> $3 LIMIT 1`,
		r.Topic, [16]byte(r.TopicID), t.ledger.opts.ConsumerGroup).Scan(&group)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return &OtherGroupError{Topic: r.Topic, Group: group, Asked: t.ledger.opts.ConsumerGroup}
}

// formerTopicID returns the id under which the partition of this name was
// settled before, or nothing.
func (t *tx) formerTopicID(ctx context.Context, r *AcquireRequest) (string, error) {
	var id [16]byte
	err := t.conn.QueryRow(ctx, `
SELECT topic_id FROM source WHERE topic = $1 AND partition = $2 AND topic_id <> $3 ORDER BY source DESC LIMIT 1`,
		r.Topic, r.Partition, [16]byte(r.TopicID)).Scan(&id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	}
	return settle.TopicID(id).String(), nil
}

func (t *tx) insertSource(ctx context.Context, r *AcquireRequest, p *Progress) error {
	err := t.conn.QueryRow(ctx, "INSERT INTO source (topic_id, topic, partition) VALUES ($1, $2, $3) RETURNING source",
		[16]byte(r.TopicID), r.Topic, r.Partition).Scan(&p.Source)
	if err != nil {
		return err
	}
	var owner any
	if p.State == StateActive {
		owner = [16]byte(r.Owner)
	}
	err = t.conn.QueryRow(ctx, `
INSERT INTO progress (source, consumer_group, next_offset, owner, published_offset, state, reason, detail)
VALUES ($1, $2, $3, $4, $5, $6, nullif($7, ''), nullif($8, '')) RETURNING published_at`,
		p.Source, t.ledger.opts.ConsumerGroup, p.NextOffset, owner, p.PublishedOffset,
		string(p.State), string(p.Reason), p.Detail).Scan(&p.PublishedAt)
	if err != nil || p.State != StateActive || r.LogStart == 0 {
		return err
	}
	_, err = t.conn.Exec(ctx, "INSERT INTO gap (source, from_offset, to_offset, reason) VALUES ($1, 0, $2, $3)",
		p.Source, r.LogStart, GapFirstSeen)
	return err
}
