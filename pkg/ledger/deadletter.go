package ledger

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tieout/tieout/pkg/settle"
)

// A DeadLetter is a record that can't be settled, as it arrived.
type DeadLetter struct {
	settle.Coordinates

	Source    int32
	Topic     string
	Key       []byte // nil where the record had none
	Value     []byte
	Headers   []settle.Header
	Timestamp time.Time

	Failure       settle.Failure
	Delivery      settle.Delivery
	CorrelationID string
}

// deadLetters are the columns of those of one batch: one statement inserts
// them. It's the only large one that is sent while locks are held, and its
// parameters are in the first message of a round trip: a client that is stopped
// in the middle of that one is idle in transaction, and the server ends it.
type deadLetters struct {
	offsets                               []int64
	keys, values                          [][]byte
	headers                               []string // bytea[] as text: arrays of arrays have no rows
	timestamps                            []pgtype.Timestamptz
	classes, reasons, fields, fieldValues []string
	details, runs, deliveries, correlated []string

	depth map[depthKey]int64
}

// A depthKey names one count of dead letters.
type depthKey struct {
	class  settle.Class
	reason settle.Reason
}

func (d *deadLetters) add(e *settle.Entry, f *settle.Failure) {
	r := &e.Record
	d.offsets = append(d.offsets, r.Offset)
	d.keys = append(d.keys, r.Key)
	d.values = append(d.values, r.Value)
	d.headers = append(d.headers, headersLiteral(r.Headers))
	d.timestamps = append(d.timestamps, timestamp(r.Timestamp))
	d.classes = append(d.classes, string(f.Class))
	d.reasons = append(d.reasons, string(f.Reason))
	d.fields = append(d.fields, cleanText(f.Field))
	d.fieldValues = append(d.fieldValues, cleanText(f.Value))
	d.details = append(d.details, cleanText(f.Detail))
	d.runs = append(d.runs, cleanText(e.Delivery.RunID))
	d.deliveries = append(d.deliveries, cleanText(e.Delivery.Delivery))
	d.correlated = append(d.correlated, correlationID(e))
	if d.depth == nil {
		d.depth = make(map[depthKey]int64)
	}
	d.depth[depthKey{f.Class, f.Reason}]++
}

const insertDeadLetters = `
INSERT INTO dead_letter (source, stream, rules_id, source_offset, key, value, headers, record_timestamp,
	class, reason, field, field_value, detail, run_id, delivery, correlation_id)
SELECT $1::int, $2::text, $3::int, source_offset, key, value, headers::bytea[], record_timestamp,
	class, reason, field, field_value, detail, run_id, delivery, correlation_id
FROM unnest($4::bigint[], $5::bytea[], $6::bytea[], $7::text[], $8::timestamptz[],
	$9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[])
	AS d (source_offset, key, value, headers, record_timestamp,
	class, reason, field, field_value, detail, run_id, delivery, correlation_id)`

// bury inserts the dead letters of a batch.
func (t *tx) bury(ctx context.Context, d *deadLetters, source, rules int32) error {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	_, err := t.conn.Exec(ctx, insertDeadLetters, source, t.ledger.opts.Stream, rules,
		d.offsets, d.keys, d.values, d.headers, d.timestamps,
		d.classes, d.reasons, d.fields, d.fieldValues, d.details, d.runs, d.deliveries, d.correlated)
	if err != nil {
		return fmt.Errorf("insert into dead_letter: %w", err)
	}
	return nil
}

const addDepth = `
INSERT INTO dead_letter_depth AS d (source, class, reason, depth)
SELECT $1::int, n.class, n.reason, n.depth FROM unnest($2::text[], $3::text[], $4::bigint[]) AS n (class, reason, depth)
ON CONFLICT (source, class, reason) DO UPDATE SET depth = d.depth + excluded.depth`

// queueDepth adds a batch's dead letters to the counts, in the order of their
// key, in which everyone locks them.
func (d *deadLetters) queueDepth(batch *pgx.Batch, source int32) {
	keys := make([]depthKey, 0, len(d.depth))
	for key := range d.depth {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b depthKey) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.reason, b.reason))
	})
	classes, reasons, counts := make([]string, len(keys)), make([]string, len(keys)), make([]int64, len(keys))
	for i, key := range keys {
		classes[i], reasons[i], counts[i] = string(key.class), string(key.reason), d.depth[key]
	}
	batch.Queue(addDepth, source, classes, reasons, counts)
}

// DeadLetterDepth counts this consumer group's dead letters that stand open, by
// class. It reads counts that are kept with every batch, a handful of rows a
// source, however many dead letters there are.
func (l *Ledger) DeadLetterDepth(ctx context.Context) (map[settle.Class]int64, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	rows, err := l.pool.Query(ctx, "SELECT class, sum(depth)::bigint FROM dead_letter_depth JOIN progress USING (source)"+
		" WHERE consumer_group = $1 GROUP BY class", l.opts.ConsumerGroup)
	if err != nil {
		return nil, fmt.Errorf("dead-letter depth: %w", l.plain(err))
	}
	depth := make(map[settle.Class]int64)
	var class string
	var count int64
	_, err = pgx.ForEachRow(rows, []any{&class, &count}, func() error {
		depth[settle.Class(class)] = count
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dead-letter depth: %w", l.plain(err))
	}
	return depth, nil
}

// headersLiteral writes headers as a Postgres array of bytes: names and values
// by turns, null where a header has no value.
func headersLiteral(headers []settle.Header) string {
	var b strings.Builder
	b.WriteByte('{')
	element := func(raw []byte) {
		b.WriteString(`"\\x`)
		b.WriteString(hex.EncodeToString(raw))
		b.WriteByte('"')
	}
	for i, h := range headers {
		if i > 0 {
			b.WriteByte(',')
		}
		element([]byte(h.Key))
		b.WriteByte(',')
		if h.Value == nil {
			b.WriteString("NULL")
		} else {
			element(h.Value)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// headersOf is the inverse, of what comes back.
func headersOf(flat [][]byte) []settle.Header {
	var headers []settle.Header
	for ; len(flat) >= 2; flat = flat[2:] {
		headers = append(headers, settle.Header{Key: string(flat[0]), Value: flat[1]})
	}
	return headers
}

// A record's time is its producer's to choose: one that no calendar has is left
// out.
const minYear, maxYear = 1, 9999

func timestamp(t time.Time) pgtype.Timestamptz {
	t = t.UTC()
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero() && t.Year() >= minYear && t.Year() <= maxYear}
}

// correlationID is the posting's, else what the record's header says.
func correlationID(e *settle.Entry) string {
	if e.Posting.CorrelationID != "" {
		return cleanText(e.Posting.CorrelationID)
	}
	value, _ := e.Record.Header(settle.HeaderCorrelationID)
	if settle.CheckText(settle.HeaderCorrelationID, string(value)) != nil {
		return ""
	}
	return string(value)
}

// maxCleanBytes bounds a text about a record. The record itself is whole.
const maxCleanBytes = 4096

// cleanText makes text into what Postgres takes: a dead letter that the ledger
// refused would stop its partition.
func cleanText(text string) string {
	if len(text) > maxCleanBytes {
		text = text[:maxCleanBytes]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
