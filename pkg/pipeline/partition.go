package pipeline

import (
	"time"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
)

// A stage is where a partition stands in the protocol, as its worker sees it.
type stage string

const (
	// stageAssigned: step 1 is due; nothing is fetched.
	stageAssigned stage = "assigned"
	// stageOwned: the row in progress bears our token.
	stageOwned stage = "owned"
	// stageHalted: the row has no owner and says why; it is looked at again.
	stageHalted stage = "halted"
)

// A partition is what a worker knows of one partition that it is assigned.
//
// Invariant: published <= next (but for what is in the current batch), and
// nothing below published is ever published again by this session.
type partition struct {
	id      int32
	topicID settle.TopicID
	stage   stage

	// groupOffset and groupEpoch are what the group had committed at the
	// assignment, or what we committed since; -1 where there is none.
	groupOffset int64
	groupEpoch  int32

	source       int32
	owner        ledger.Token
	next         int64 // next_offset in Postgres
	published    int64 // all below it is on the outcome topics
	floorWritten int64 // published_offset in Postgres
	publishedAt  time.Time
	expected     int64 // the offset that the next polled record is to have

	batch  *batch // in hand: polled, not yet committed and published
	paused bool   // the client doesn't fetch it

	retry   retry
	reason  string // why it stands still: the last error or the halt's reason
	lastLog string // what was logged last, so that a lasting trouble is one line
}

func newPartition(id int32, groupOffset int64, groupEpoch int32) *partition {
	if groupOffset < 0 {
		groupOffset, groupEpoch = -1, -1
	}
	return &partition{id: id, stage: stageAssigned, groupOffset: groupOffset, groupEpoch: groupEpoch, paused: true}
}

// enter notes where the partition stands and why it stands still.
func (p *partition) enter(s stage, reason string) {
	p.stage, p.reason = s, reason
	if reason == "" {
		p.lastLog = ""
	}
}

// reassign sends the partition back to step 1, without its batch.
func (p *partition) reassign() {
	p.stage, p.batch = stageAssigned, nil
}

// drop forgets the batch in hand; the records come again from published on.
func (p *partition) drop() {
	p.batch = nil
	p.expected = p.published
	p.retry.reset()
}

// A retry is the back-off of one partition: growing, bounded, and over at the
// first success.
type retry struct {
	at    time.Time
	delay time.Duration
}

func (r *retry) due(now time.Time) bool { return !now.Before(r.at) }

func (r *retry) reset() { *r = retry{} }

func (r *retry) later(now time.Time, base, limit time.Duration) {
	r.delay = min(max(2*r.delay, base), limit)
	r.at = now.Add(r.delay)
}

func (r *retry) in(now time.Time, delay time.Duration) {
	r.at = now.Add(delay)
}

// logOnce tells whether a trouble is news: one that lasts is one line.
func (p *partition) logOnce(text string) bool {
	if p.lastLog == text {
		return false
	}
	p.lastLog = text
	return true
}
