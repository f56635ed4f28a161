package ledger

import (
	"fmt"

	"github.com/tieout/tieout/pkg/settle"
)

// A Token is one ownership of a source: random, and made anew whenever a
// partition is assigned.
type Token [16]byte

// A Batch is what is committed in one transaction: every record of a source
// from offset From up to Next, of which there may be fewer than offsets.
type Batch struct {
	Source int32
	Owner  Token

	From int64 // where the progress row stands
	Next int64 // where it stands afterwards

	LeaderEpoch int32
	// Published is the floor that is written beside: below it, everything is
	// published.
	Published int64

	// Poison is kept by the caller between tries of one batch; nil where the
	// batch is tried once.
	Poison *Poison

	// Entries are in the order of their offsets.
	Entries []*settle.Entry
}

// check tells why a batch is not one, or nil.
func (b *Batch) check() error {
	refuse := func(format string, args ...any) error {
		return &BatchError{Source: b.Source, Why: fmt.Sprintf(format, args...)}
	}
	switch {
	case b.From < 0 || b.Next < b.From:
		return refuse("a batch from offset %d up to %d", b.From, b.Next)
	case b.Published > b.From:
		return refuse("offsets below %d are called published, those from %d on aren't committed", b.Published, b.From)
	}
	last := b.From - 1
	for _, e := range b.Entries {
		if e.Record.Offset <= last || e.Record.Offset >= b.Next {
			return refuse("offset %d is not between the last one, %d, and the batch's end, %d", e.Record.Offset, last, b.Next)
		}
		last = e.Record.Offset
	}
	return nil
}

// verdicts are what the ledger makes of a batch's entries. They're kept apart
// until the transaction is known to be committed: what was rolled back has said
// nothing.
type verdicts struct {
	outcomes []settle.Outcome
	failures map[int]*settle.Failure // by entry; those that the ledger found
	placed   map[int]placement       // by entry; those that have a history
}

// newVerdicts begins with what the entries say themselves, and with the records
// that the ledger refused before.
func newVerdicts(entries []*settle.Entry, refused map[int]*settle.Failure) *verdicts {
	v := &verdicts{outcomes: make([]settle.Outcome, len(entries)), failures: make(map[int]*settle.Failure, len(refused))}
	for i, e := range entries {
		switch {
		case e.Failure != nil:
			v.outcomes[i] = settle.DeadLetter
		case refused[i] != nil:
			v.fail(i, refused[i])
		default:
			v.outcomes[i] = e.Posting.Outcome
		}
	}
	return v
}

// place takes over what placing found out.
func (v *verdicts) place(p *placing, s *stage) {
	if p == nil {
		return
	}
	v.placed = make(map[int]placement, len(p.placed))
	for position, placement := range p.placed {
		v.placed[s.rows[position].entry] = placement
	}
	for position := range p.copies {
		v.outcomes[s.rows[position].entry] = settle.DuplicateSkipped
	}
	for position, f := range p.refused {
		v.fail(s.rows[position].entry, f)
	}
}

func (v *verdicts) fail(entry int, f *settle.Failure) {
	v.outcomes[entry], v.failures[entry] = settle.DeadLetter, f
}

// failure is why an entry is a dead letter.
func (v *verdicts) failure(entry int, e *settle.Entry) *settle.Failure {
	if e.Failure != nil {
		return e.Failure
	}
	return v.failures[entry]
}

// apply tells the entries.
func (v *verdicts) apply(entries []*settle.Entry) {
	for i, e := range entries {
		e.Outcome = v.outcomes[i]
		if p, ok := v.placed[i]; ok && e.Outcome != settle.DuplicateSkipped {
			e.Posting.Revision, e.Posting.PrevVersion, e.Posting.PrevAmount = p.revision, p.prevVersion, p.prevAmount
		}
		if f := v.failures[i]; f != nil {
			e.Failure = f
		}
	}
}
