// Package runs tells whether everything that was sent has arrived: it holds what
// producers say in their manifests against what the ledger has counted. It's
// pure; others read both.
package runs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/settle"
)

// A State says how far a delivery has come.
type State string

// The states of a delivery.
const (
	// Complete: as much as was sent to each partition has arrived, and nothing
	// speaks against the control sum.
	Complete State = "complete"
	// Incomplete: something that was sent has not arrived yet.
	Incomplete State = "incomplete"
	// Differs: nothing is missing, but more has arrived than was sent, or it
	// adds up to something else.
	Differs State = "differs"
	// Aborted: its producer says that it ended early.
	Aborted State = "aborted"
	// Unknown: no manifest says what was sent.
	Unknown State = "unknown"
	// Unsettled: it was sent to a topic that isn't settled, such as that of dead
	// letters, and nothing of it is to arrive.
	Unsettled State = "unsettled"
)

// Facts are what is known of one run.
type Facts struct {
	Tallies   []ledger.SourceTally
	Manifests []producer.Manifest // in the order in which they were sent
	Halts     []ledger.Halt
	// StreamOf returns the stream that settles a topic; empty where none does.
	StreamOf func(topic string) string
}

// A Part is what became of one delivery on one topic. Nearly every delivery has
// one.
type Part struct {
	settle.Delivery
	Stream  string
	Topic   string
	TopicID settle.TopicID

	ledger.Counts
	Quantities  ledger.Quantities
	First, Last time.Time // zero where nothing has arrived

	Manifest *producer.Manifest // nil: there is none
	State    State
	// Differing are the partitions on which other than what was sent has
	// arrived.
	Differing []Partition
	// SentAgain is the later delivery in which all of an aborted one has come.
	SentAgain string
}

// A Partition is one on which other than what was sent has arrived.
type Partition struct {
	Partition     int32
	Sent, Arrived int64
	Halted        ledger.HaltReason // empty: it isn't
}

// Missing is how many records have not arrived.
func (p *Part) Missing() (missing int64) {
	for _, d := range p.Differing {
		missing += max(0, d.Sent-d.Arrived)
	}
	return missing
}

// Unexplained is what the control sum has that the records counted so far don't
// add up to. ok is false where there is no control sum.
func (p *Part) Unexplained() (rest money.Sum, ok bool) {
	if p.Manifest == nil || p.Manifest.Quantity == "" {
		return rest, false
	}
	return p.Manifest.ControlSum.Minus(p.Quantities.Total()), true
}

// Done tells whether nothing more is to be expected of the part, and nothing is
// to be looked at.
func (p *Part) Done() bool {
	switch p.State {
	case Complete, Unsettled:
		return true
	case Aborted:
		return p.SentAgain != "" && p.Missing() == 0
	case Incomplete, Differs, Unknown:
	}
	return false
}

// Done tells whether a run is complete: all of its parts are done.
func Done(parts []Part) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return !p.Done() })
}

// A place is where a part was sent.
type place struct {
	delivery settle.Delivery
	topic    settle.TopicID
}

// Assess makes the parts of a run, in the order of their deliveries, which are
// named by the time of their beginning.
func Assess(facts Facts) []Part {
	a := assessment{facts: facts, parts: map[place]*Part{}, arrived: map[place]map[int32]int64{}}
	for i := range facts.Tallies {
		a.count(&facts.Tallies[i])
	}
	for i := range facts.Manifests {
		m := &facts.Manifests[i]
		a.part(m.Delivery, m.TopicID, m.Topic).Manifest = m
	}
	parts := make([]Part, 0, len(a.parts))
	for at, part := range a.parts {
		a.judge(part, a.arrived[at])
		parts = append(parts, *part)
	}
	slices.SortFunc(parts, func(x, y Part) int {
		return cmp.Or(cmp.Compare(x.Delivery.Delivery, y.Delivery.Delivery), cmp.Compare(x.Topic, y.Topic), strings.Compare(x.TopicID.String(), y.TopicID.String()))
	})
	for i := range parts {
		parts[i].SentAgain = sentAgain(&parts[i], parts[i+1:])
	}
	return parts
}

// sentAgain finds the delivery that brought all of one that was aborted.
func sentAgain(aborted *Part, later []Part) string {
	if aborted.State != Aborted {
		return ""
	}
	for i := range later {
		p := &later[i]
		if p.State == Complete && p.Stream == aborted.Stream && p.Manifest.Content == aborted.Manifest.Content {
			return p.Delivery.Delivery
		}
	}
	return ""
}

// An assessment is one under way.
type assessment struct {
	facts   Facts
	parts   map[place]*Part
	arrived map[place]map[int32]int64 // by partition
}

func (a *assessment) part(delivery settle.Delivery, id settle.TopicID, topic string) *Part {
	at := place{delivery, id}
	p := a.parts[at]
	if p == nil {
		p = &Part{Delivery: delivery, Stream: a.facts.StreamOf(topic), Topic: topic, TopicID: id}
		a.parts[at], a.arrived[at] = p, map[int32]int64{}
	}
	return p
}

// count adds a source's tally. Incarnations of a partition are sources of their
// own, and one to whoever sent.
func (a *assessment) count(t *ledger.SourceTally) {
	p := a.part(t.Delivery, t.TopicID, t.Topic)
	a.arrived[place{t.Delivery, t.TopicID}][t.Partition] += t.Total()
	p.Add(t.Counts)
	p.Quantities.Add(t.Quantities)
	if p.First.IsZero() || t.First.Before(p.First) {
		p.First = t.First
	}
	if t.Last.After(p.Last) {
		p.Last = t.Last
	}
}

// judge finds out a part's state.
func (a *assessment) judge(p *Part, arrived map[int32]int64) {
	m := p.Manifest
	if m == nil {
		p.State = Unknown
		return
	}
	settled := p.Stream != ""
	p.Stream = cmp.Or(p.Stream, m.Stream)
	if !settled && p.Total() == 0 {
		p.State = Unsettled
		return
	}
	a.compare(p, arrived)
	rest, summed := p.Unexplained()
	switch {
	case m.State == producer.ManifestAborted:
		p.State = Aborted
	case p.Missing() > 0:
		p.State = Incomplete
	case len(p.Differing) > 0, summed && p.Quantities.Unmeasured == 0 && !rest.IsZero():
		p.State = Differs
	default:
		p.State = Complete
	}
}

// compare finds the partitions on which other than what was sent has arrived. Of
// a delivery that was aborted, more may have arrived than its producer knew.
func (a *assessment) compare(p *Part, arrived map[int32]int64) {
	partitions := map[int32]struct{}{}
	for partition := range p.Manifest.Partitions {
		partitions[partition] = struct{}{}
	}
	for partition := range arrived {
		partitions[partition] = struct{}{}
	}
	for partition := range partitions {
		d := Partition{Partition: partition, Sent: p.Manifest.Partitions[partition], Arrived: arrived[partition]}
		if d.Sent == d.Arrived || d.Sent < d.Arrived && p.Manifest.State == producer.ManifestAborted {
			continue
		}
		for _, halt := range a.facts.Halts {
			if halt.TopicID == p.TopicID && halt.Partition == partition {
				d.Halted = halt.Reason
			}
		}
		p.Differing = append(p.Differing, d)
	}
	slices.SortFunc(p.Differing, func(x, y Partition) int { return cmp.Compare(x.Partition, y.Partition) })
}
