package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tieout/tieout/pkg/settle"
)

// A State says whether a source may be settled.
type State string

// The states of a source.
const (
	StateActive State = "active"
	// StateHalted has no owner until somebody mends what is wrong.
	StateHalted State = "halted"
)

// A HaltReason is the stable code of why a source is halted.
type HaltReason string

// The reasons that Acquire finds; pkg/pipeline has others.
const (
	// HaltTopicRecreated: the topic has another id than the one settled so far.
	HaltTopicRecreated HaltReason = "topic_recreated"
	// HaltUnknownProgress: the group has committed offsets, the ledger knows of
	// none. It's an empty database, or an older one.
	HaltUnknownProgress HaltReason = "unknown_progress"
	// HaltLedgerBehind: the group's offset is beyond the ledger's, which was
	// restored from an older backup.
	HaltLedgerBehind HaltReason = "ledger_behind"
)

// Progress is where a source stands.
type Progress struct {
	Source          int32
	NextOffset      int64
	PublishedOffset int64
	PublishedAt     time.Time
	LeaderEpoch     int32
	State           State
	Reason          HaltReason
	Detail          string
}

// progressColumns are those of scan, in its order.
const progressColumns = "p.source, p.next_offset, p.published_offset, p.published_at, p.leader_epoch, p.state, coalesce(p.reason, ''), coalesce(p.detail, '')"

func (p *Progress) targets() []any {
	return []any{&p.Source, &p.NextOffset, &p.PublishedOffset, &p.PublishedAt, &p.LeaderEpoch, &p.State, &p.Reason, &p.Detail}
}

// Halt takes a source from its owner and says why it can't go on. It fails with
// a FencedError where it isn't the owner's.
func (l *Ledger) Halt(ctx context.Context, source int32, owner Token, reason HaltReason, detail string) error {
	return l.retrying(ctx, "halt", func() error {
		ctx, cancel := l.bounded(ctx)
		defer cancel()
		tag, err := l.pool.Exec(ctx, `
UPDATE progress SET state = 'halted', owner = NULL, reason = $3, detail = $4
WHERE source = $1 AND owner = $2`, source, [16]byte(owner), string(reason), cleanText(detail))
		if err != nil {
			return fmt.Errorf("halt source %d: %w", source, err)
		}
		if tag.RowsAffected() == 1 {
			return nil
		}
		row, err := readOwner(ctx, l.pool, source, "")
		if err != nil {
			return fmt.Errorf("halt source %d: %w", source, err)
		}
		return row.fenced(source)
	})
}

// WriteFloor notes that everything below an offset is published. It returns
// false where the source isn't the owner's any more.
func (l *Ledger) WriteFloor(ctx context.Context, source int32, owner Token, published int64) (held bool, err error) {
	err = l.retrying(ctx, "write floor", func() error {
		ctx, cancel := l.bounded(ctx)
		defer cancel()
		tag, err := l.pool.Exec(ctx, `
UPDATE progress SET published_offset = greatest(published_offset, $3),
	published_at = CASE WHEN $3 >= published_offset THEN now() ELSE published_at END
WHERE source = $1 AND owner = $2`, source, [16]byte(owner), published)
		if err != nil {
			return fmt.Errorf("write the floor of source %d: %w", source, err)
		}
		held = tag.RowsAffected() == 1
		return nil
	})
	return held, err
}

// A ProgressRow is a source with where it stands.
type ProgressRow struct {
	Topic       string
	TopicID     settle.TopicID
	Partition   int32
	Incarnation int32
	Owned       bool // a worker has taken it; it may be gone since
	Progress
}

// ProgressRows returns the sources of this ledger's consumer group.
func (l *Ledger) ProgressRows(ctx context.Context) ([]ProgressRow, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	rows, err := l.pool.Query(ctx, `
SELECT s.topic, s.topic_id, s.partition, s.incarnation, p.owner IS NOT NULL, `+progressColumns+`
FROM progress p JOIN source s USING (source)
WHERE p.consumer_group = $1 ORDER BY s.topic, s.partition, s.source`, l.opts.ConsumerGroup)
	if err != nil {
		return nil, fmt.Errorf("progress: %w", l.plain(err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r ProgressRow, err error) {
		var id pgtype.UUID
		err = row.Scan(append([]any{&r.Topic, &id, &r.Partition, &r.Incarnation, &r.Owned}, r.targets()...)...)
		r.TopicID = settle.TopicID(id.Bytes)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("progress: %w", l.plain(err))
	}
	return list, nil
}
