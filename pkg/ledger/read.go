package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// A postingRow is a ledger's row as it's read back.
type postingRow struct {
	offset        int64
	key           []byte
	version       int64
	revision      int32
	outcome       settle.Outcome
	amount        string
	claimed       *string
	currency      string
	correlationID string
	delivery      settle.Delivery
	prevVersion   *int64
	prevAmount    *string
}

// targets are the columns with which the statements that read postings begin.
func (p *postingRow) targets() []any {
	return []any{&p.offset, &p.key, &p.version, &p.revision, &p.outcome, &p.amount, &p.claimed, &p.currency,
		&p.correlationID, &p.delivery.RunID, &p.delivery.Delivery, &p.prevVersion, &p.prevAmount}
}

// into makes what is recorded of the row.
func (p *postingRow) into(r *Recorded) error {
	if len(p.key) != len(reconkey.Key{}) {
		return fmt.Errorf("offset %d: a key of %d bytes", p.offset, len(p.key))
	}
	amount, err := money.Parse(p.amount)
	if err != nil {
		return fmt.Errorf("offset %d: amount: %w", p.offset, err)
	}
	claimed, err := nullDecimal(p.claimed)
	if err != nil {
		return fmt.Errorf("offset %d: claimed: %w", p.offset, err)
	}
	prevAmount, err := nullDecimal(p.prevAmount)
	if err != nil {
		return fmt.Errorf("offset %d: amount before: %w", p.offset, err)
	}
	*r = Recorded{Kind: RecordedPosting, Offset: p.offset, Delivery: p.delivery}
	r.Posting.SettlePosting(amount, claimed)
	r.Posting.Outcome = p.outcome // as it was recorded, whatever follows from it today
	r.Posting.Key = reconkey.Key(p.key)
	r.Posting.Version, r.Posting.Revision = p.version, p.revision
	r.Posting.Currency, r.Posting.CorrelationID = p.currency, p.correlationID
	r.Posting.PrevVersion, r.Posting.PrevAmount = p.prevVersion, prevAmount
	return nil
}

func nullDecimal(text *string) (d money.NullDecimal, err error) {
	if text == nil {
		return d, nil
	}
	d.Valid = true
	d.Decimal, err = money.Parse(*text)
	return d, err
}

// deadLetters reads those of a source, where a condition on d holds, whose
// parameters begin with $2.
func (t *tx) deadLetters(ctx context.Context, source int32, where string, args ...any) ([]Recorded, error) {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	rows, err := t.conn.Query(ctx, `
SELECT s.topic_id, s.topic, s.partition, d.source_offset, d.key, d.value, d.headers, d.record_timestamp,
	d.class, d.reason, d.field, d.field_value, d.detail, d.run_id, d.delivery, d.correlation_id
FROM dead_letter d JOIN source s USING (source) WHERE d.source = $1 AND `+where, append([]any{source}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Recorded, error) {
		d := &DeadLetter{Source: source}
		var id pgtype.UUID
		var headers [][]byte
		var at pgtype.Timestamptz
		err := row.Scan(&id, &d.Topic, &d.Partition, &d.Offset, &d.Key, &d.Value, &headers, &at,
			&d.Failure.Class, &d.Failure.Reason, &d.Failure.Field, &d.Failure.Value, &d.Failure.Detail,
			&d.Delivery.RunID, &d.Delivery.Delivery, &d.CorrelationID)
		d.TopicID, d.Headers, d.Timestamp = settle.TopicID(id.Bytes), headersOf(headers), at.Time
		return Recorded{Kind: RecordedDeadLetter, Offset: d.Offset, Delivery: d.Delivery, DeadLetter: d}, err
	})
}
