package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tieout/tieout/pkg/settle"
)

// A RecordedKind says as what a record stands in the ledger.
type RecordedKind int

// What a record below the next offset can be.
const (
	// RecordedNothing: the ledger and the topic are not of one history.
	RecordedNothing RecordedKind = iota
	// RecordedPosting: the posting of its key has its coordinates.
	RecordedPosting
	// RecordedDeadLetter: there is a dead letter of its coordinates.
	RecordedDeadLetter
	// RecordedDuplicate: its key is posted from elsewhere, with the same
	// pinned columns and economics.
	RecordedDuplicate
	// RecordedGap: its offset was left out.
	RecordedGap
)

// String names the kind.
func (k RecordedKind) String() string {
	switch k {
	case RecordedPosting:
		return "posting"
	case RecordedDeadLetter:
		return "dead letter"
	case RecordedDuplicate:
		return "duplicate"
	case RecordedGap:
		return "gap"
	}
	return "nothing"
}

// Recorded is what the ledger holds of one record.
type Recorded struct {
	Kind   RecordedKind
	Offset int64

	Posting    settle.Posting // of a posting; without its Row
	Delivery   settle.Delivery
	DeadLetter *DeadLetter
}

// Recorded returns what the ledger holds of each of these records, all of the
// source and in the order of their offsets: never computed again, always as it
// was recorded. A record that is no posting today is looked for by its
// coordinates alone.
func (l *Ledger) Recorded(ctx context.Context, source int32, entries []*settle.Entry) (recorded []Recorded, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	err = l.retrying(ctx, "read what is recorded", func() error {
		recorded, err = l.readRecorded(ctx, source, entries)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what is recorded of source %d: %w", source, err)
	}
	return recorded, nil
}

func (l *Ledger) readRecorded(ctx context.Context, source int32, entries []*settle.Entry) ([]Recorded, error) {
	t, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer t.close(ctx) // nothing is written, but to the stage
	f := &finding{tx: t, source: source, at: make(map[int64]*Recorded, len(entries))}
	recorded := make([]Recorded, len(entries))
	for i, e := range entries {
		recorded[i].Offset = e.Record.Offset
		f.at[e.Record.Offset] = &recorded[i]
	}
	// Dead letters first: the ledger may refuse to hold one against its rows.
	for _, find := range []func(context.Context, []*settle.Entry) error{f.deadLetters, f.byKey, f.byCoordinates, f.gaps} {
		open := make([]*settle.Entry, 0, len(entries))
		for _, e := range entries {
			if f.at[e.Record.Offset].Kind == RecordedNothing {
				open = append(open, e)
			}
		}
		if len(open) == 0 {
			break
		}
		if err := find(ctx, open); err != nil {
			return nil, err
		}
	}
	return recorded, nil
}

// A finding fills in, by offset, what is recorded of records that are still
// open.
type finding struct {
	tx     *tx
	source int32
	at     map[int64]*Recorded
}

func (f *finding) deadLetters(ctx context.Context, open []*settle.Entry) error {
	offsets := make([]int64, len(open))
	for i, e := range open {
		offsets[i] = e.Record.Offset
	}
	letters, err := f.tx.deadLetters(ctx, f.source, "d.source_offset = ANY($2::bigint[])", offsets)
	for i := range letters {
		*f.at[letters[i].Offset] = letters[i]
	}
	return err
}

// byKey holds today's postings against the ledger's rows of the same key.
func (f *finding) byKey(ctx context.Context, open []*settle.Entry) error {
	l := f.tx.ledger
	s := newStage(&l.opts.Table)
	if err := s.encode(open); err != nil || len(s.rows) == 0 {
		return err
	}
	if err := f.tx.copyStage(ctx, s, len(s.rows)); err != nil {
		return err
	}
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	rows, err := f.tx.conn.Query(ctx, l.statements.recorded)
	if err != nil {
		return err
	}
	var p postingRow
	var source, position int32
	var differs bool
	_, err = pgx.ForEachRow(rows, append(p.targets(), &source, &position, &differs), func() error {
		offset := open[s.rows[position].entry].Record.Offset
		switch {
		case source == f.source && p.offset == offset:
			return p.into(f.at[offset])
		case !differs:
			f.at[offset].Kind = RecordedDuplicate
		}
		return nil
	})
	return err
}

// byCoordinates looks for postings of records that are none by today's rules.
func (f *finding) byCoordinates(ctx context.Context, open []*settle.Entry) error {
	from, to := int64(-1), int64(-1)
	for _, e := range open {
		if e.Failure == nil {
			continue
		}
		if from < 0 {
			from = e.Record.Offset
		}
		to = e.Record.Offset + 1
	}
	if from < 0 {
		return nil
	}
	found, err := f.tx.postings(ctx, f.source, from, to)
	if err != nil {
		return err
	}
	posted := make(map[int64]Recorded, len(found))
	for _, r := range found {
		posted[r.Offset] = r
	}
	for _, e := range open {
		if r, ok := posted[e.Record.Offset]; ok && e.Failure != nil {
			*f.at[r.Offset] = r
		}
	}
	return nil
}

func (f *finding) gaps(ctx context.Context, open []*settle.Entry) error {
	gaps, err := readGaps(ctx, f.tx.conn, f.source)
	if err != nil {
		return err
	}
	for _, e := range open {
		offset := e.Record.Offset
		if slices.ContainsFunc(gaps, func(g Gap) bool { return g.Contains(offset) }) {
			f.at[offset].Kind = RecordedGap
		}
	}
	return nil
}

// RecordedRange returns the postings and dead letters of a source's offsets from
// one up to another, in their order: for records that the log no longer has. The
// caller keeps the range small.
func (l *Ledger) RecordedRange(ctx context.Context, source int32, from, to int64) (recorded []Recorded, err error) {
	err = l.retrying(ctx, "read a range", func() error {
		t, err := l.begin(ctx)
		if err != nil {
			return err
		}
		defer t.close(ctx)
		if recorded, err = t.postings(ctx, source, from, to); err != nil {
			return err
		}
		letters, err := t.deadLetters(ctx, source, "d.source_offset >= $2 AND d.source_offset < $3", from, to)
		recorded = append(recorded, letters...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what is recorded of source %d: %w", source, err)
	}
	slices.SortFunc(recorded, func(a, b Recorded) int { return cmp.Compare(a.Offset, b.Offset) })
	return recorded, nil
}

// postings reads the ledger's rows of some coordinates.
func (t *tx) postings(ctx context.Context, source int32, from, to int64) ([]Recorded, error) {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	rows, err := t.conn.Query(ctx, t.ledger.statements.byOffset, source, from, to)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Recorded, err error) {
		var p postingRow
		if err := row.Scan(p.targets()...); err != nil {
			return r, err
		}
		err = p.into(&r)
		return r, err
	})
}
