package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// Placing: where the postings of a versioned ledger stand in the history of
// their thing. It's done between the copy and the insert, before any lock is
// taken: what another source posts meanwhile is met by the insert.

// errRaced says that another source posted a revision that this transaction had
// numbered too: the whole of it is tried again.
var errRaced = errors.New("another source posted a revision meanwhile")

// A placement is what a posting gets from those before it.
type placement struct {
	revision    int32
	prevVersion *int64
	prevAmount  money.NullDecimal
}

// A placing is what was found out about a stage's rows, by position.
type placing struct {
	placed  map[int32]placement
	copies  map[int32]bool            // duplicates of a revision: not inserted
	refused map[int32]*settle.Failure // superseded: not inserted
}

// place finds out how the staged rows stand, and puts it down in the stage.
func (t *tx) place(ctx context.Context, s *stage, rows int, source int32) (*placing, error) {
	ctx, cancel := t.ledger.bounded(ctx)
	defer cancel()
	h := &history{stage: s, source: source, placing: placing{
		placed: map[int32]placement{}, copies: map[int32]bool{}, refused: map[int32]*settle.Failure{},
	}}
	if err := h.read(ctx, t); err != nil {
		return nil, fmt.Errorf("place in %s: %w", t.ledger.opts.Table.Name, err)
	}
	for from := 0; from < rows; {
		to := from + 1
		for to < rows && s.sameThing(from, to) {
			to++
		}
		h.placeThing(from, to)
		from = to
	}
	if err := h.put(ctx, t); err != nil {
		return nil, fmt.Errorf("place in %s: %w", t.ledger.opts.Table.Name, err)
	}
	return &h.placing, nil
}

// A history is what the ledger holds of the things that a stage has postings
// of.
type history struct {
	placing
	stage  *stage
	source int32
	revise bool

	newest    map[int32]posted     // by position: the newest of the same thing
	revisions map[int32][]revision // by position: those of the same version
	economics map[int32]int64      // by position: equal where the economics are
}

// posted is one posting of a thing.
type posted struct {
	version int64
	amount  money.Decimal
}

// A revision is one posting of a version. It's equal where its economics are
// those of the staged row that asked.
type revision struct {
	number int32
	equal  bool
	source int32
	offset int64
}

func (h *history) read(ctx context.Context, t *tx) error {
	h.newest, h.revisions, h.economics = map[int32]posted{}, map[int32][]revision{}, map[int32]int64{}
	h.revise = t.ledger.opts.Table.SameVersion == settle.Revise
	if err := h.readNewest(ctx, t); err != nil || !h.revise {
		return err
	}
	if err := h.readRevisions(ctx, t); err != nil {
		return err
	}
	return h.readEconomics(ctx, t)
}

func (h *history) readNewest(ctx context.Context, t *tx) error {
	rows, err := t.conn.Query(ctx, t.ledger.statements.newest)
	if err != nil {
		return err
	}
	var position int32
	var p posted
	var amount string
	_, err = pgx.ForEachRow(rows, []any{&position, &p.version, &amount}, func() (err error) {
		if p.amount, err = money.Parse(amount); err == nil {
			h.newest[position] = p
		}
		return err
	})
	return err
}

func (h *history) readRevisions(ctx context.Context, t *tx) error {
	rows, err := t.conn.Query(ctx, t.ledger.statements.revisions)
	if err != nil {
		return err
	}
	var position int32
	var r revision
	var differs bool
	_, err = pgx.ForEachRow(rows, []any{&position, &r.number, &differs, &r.source, &r.offset}, func() error {
		r.equal = !differs
		h.revisions[position] = append(h.revisions[position], r)
		return nil
	})
	return err
}

// readEconomics numbers the economics of rows that share a version in this
// batch, so that equal ones have equal numbers.
func (h *history) readEconomics(ctx context.Context, t *tx) error {
	var shared []int32
	for i := 1; i < len(h.stage.rows); i++ {
		if h.stage.sameVersion(i-1, i) {
			shared = append(shared, int32(i-1), int32(i))
		}
	}
	if len(shared) == 0 {
		return nil
	}
	rows, err := t.conn.Query(ctx, t.ledger.statements.economics, slices.Compact(shared))
	if err != nil {
		return err
	}
	var position int32
	var number int64
	_, err = pgx.ForEachRow(rows, []any{&position, &number}, func() error {
		h.economics[position] = number
		return nil
	})
	return err
}

// placeThing places the rows of one thing, in the order of their offsets.
func (h *history) placeThing(from, to int) {
	positions := make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		positions = append(positions, int32(i))
	}
	slices.SortFunc(positions, func(a, b int32) int { return h.stage.rows[a].entry - h.stage.rows[b].entry })
	newest, known := h.newest[positions[0]]
	versions := map[int64]*versionState{}
	for _, at := range positions {
		row := h.stage.rows[at]
		state := versions[row.version]
		if state == nil {
			state = newVersionState(h.revisions[at])
			versions[row.version] = state
		}
		p := placement{revision: row.revision}
		if h.revise {
			var goes bool
			if p.revision, goes = h.revisionOf(at, state); !goes {
				continue
			}
		} else if known && row.version == newest.version {
			continue // a copy, or a conflict: the insert will tell
		}
		if known {
			version := newest.version
			p.prevVersion, p.prevAmount = &version, money.NullDecimal{Decimal: newest.amount, Valid: true}
		}
		if !known || row.version >= newest.version {
			newest, known = posted{row.version, row.amount}, true
		}
		if p.prevVersion != nil || p.revision != row.revision {
			h.placed[at] = p
		}
	}
}

// A versionState is what there is of one version so far, in the ledger and in
// the batch.
type versionState struct {
	next      int32          // the number of the next revision
	economics map[int64]bool // of the batch's own revisions
}

func newVersionState(there []revision) *versionState {
	s := &versionState{economics: map[int64]bool{}}
	for _, r := range there {
		s.next = max(s.next, r.number+1)
	}
	return s
}

// revisionOf numbers a row within its version. It's a copy where any revision
// has its economics, and superseded where a younger record of its own source is
// posted already.
func (h *history) revisionOf(at int32, state *versionState) (number int32, goes bool) {
	economics, shared := h.economics[at]
	offset := h.stage.rows[at].offset
	for _, r := range h.revisions[at] {
		if r.equal {
			h.copies[at] = true
			return 0, false
		}
		if r.source == h.source && r.offset > offset {
			h.refused[at] = settle.Business(settle.ReasonSuperseded, "", "").
				WithDetail("offset %d of this source is posted already", r.offset)
			return 0, false
		}
	}
	if shared && state.economics[economics] {
		h.copies[at] = true
		return 0, false
	}
	if shared {
		state.economics[economics] = true
	}
	number = state.next
	state.next++
	return number, true
}

// put changes the staged rows that have a history, and takes out those that
// aren't inserted.
func (h *history) put(ctx context.Context, t *tx) error {
	var changed, out []int32
	var revisions []int32
	var versions []*int64
	var amounts []*string
	for at, p := range h.placed {
		changed, revisions, versions = append(changed, at), append(revisions, p.revision), append(versions, p.prevVersion)
		var amount *string
		if p.prevAmount.Valid {
			text := p.prevAmount.Decimal.String()
			amount = &text
		}
		amounts = append(amounts, amount)
	}
	for at := range h.copies {
		out = append(out, at)
	}
	for at := range h.refused {
		out = append(out, at)
	}
	if len(changed) > 0 {
		if _, err := t.conn.Exec(ctx, placeStaged, changed, revisions, versions, amounts); err != nil {
			return err
		}
	}
	if len(out) > 0 {
		if _, err := t.conn.Exec(ctx, "DELETE FROM "+stageName+" WHERE position = ANY($1::int[])", out); err != nil {
			return err
		}
	}
	return nil
}

const placeStaged = "UPDATE " + stageName + ` s SET revision = p.revision, prev_version = p.version, prev_amount = p.amount::numeric
FROM unnest($1::int[], $2::int[], $3::bigint[], $4::text[]) AS p (position, revision, version, amount)
WHERE s.position = p.position`
