package main

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tieout/tieout/pkg/pipeline"
	"github.com/tieout/tieout/pkg/settle"
)

// A meter adds up what workers tell of their batches, and passes it on to
// where it's shown over time.
type meter struct {
	pipeline.Metrics

	mu    sync.Mutex
	total metered
}

// metered is what the workers of a process did.
type metered struct {
	outcomes map[settle.Outcome]int64
	busy     map[string]time.Duration // by stage, added up over partitions and lanes
	began    time.Time                // of the first poll that brought records
	ended    time.Time                // when the last outcomes were out
}

func newMeter(next pipeline.Metrics) *meter {
	return &meter{Metrics: next, total: metered{
		outcomes: map[settle.Outcome]int64{}, busy: map[string]time.Duration{},
	}}
}

// Outcomes counts records by what became of them.
func (m *meter) Outcomes(lane, outcome, class, reason string, records int) {
	m.Metrics.Outcomes(lane, outcome, class, reason, records)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.outcomes[settle.Outcome(outcome)] += int64(records)
}

// Took adds up how long each stage was at work.
func (m *meter) Took(lane, stage string, took time.Duration) {
	m.Metrics.Took(lane, stage, took)
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.busy[stage] += took
	switch stage {
	case pipeline.StagePoll:
		if began := now.Add(-took); m.total.began.IsZero() || began.Before(m.total.began) {
			m.total.began = began
		}
	case pipeline.StageKafka:
		m.total.ended = now
	}
}

// reading is what was metered so far, and no longer changes.
func (m *meter) reading() metered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return metered{outcomes: maps.Clone(m.total.outcomes), busy: maps.Clone(m.total.busy), began: m.total.began, ended: m.total.ended}
}

// records is how many were settled, whatever became of them.
func (m metered) records() (total int64) {
	for _, records := range m.outcomes {
		total += records
	}
	return total
}

// took is the time from the first poll to the last outcome.
func (m metered) took() time.Duration {
	if m.began.IsZero() || m.ended.Before(m.began) {
		return 0
	}
	return m.ended.Sub(m.began)
}

// attributes tell of it in a log line: how many records, what became of them,
// and where the time went.
func (m metered) attributes() []any {
	var outcomes []any
	for _, outcome := range slices.Sorted(maps.Keys(m.outcomes)) {
		outcomes = append(outcomes, slog.Int64(string(outcome), m.outcomes[outcome]))
	}
	return []any{
		slog.Int64("records", m.records()), slog.Group("outcomes", outcomes...), slog.Duration("took", m.took()),
		slog.Group("busy",
			slog.Duration(pipeline.StagePoll, m.busy[pipeline.StagePoll]),
			slog.Duration(pipeline.StageSettle, m.busy[pipeline.StageSettle]),
			slog.Duration(pipeline.StagePostgres, m.busy[pipeline.StagePostgres]),
			slog.Duration(pipeline.StageKafka, m.busy[pipeline.StageKafka]),
		),
	}
}

// stoppedMessage is what a worker logs at its end, with what it did.
const stoppedMessage = "stopped"
