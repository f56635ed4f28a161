package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lagEvery spaces the measuring of lag; lagTimeout bounds one.
const (
	lagEvery   = 5 * time.Second
	lagTimeout = 3 * time.Second
	ageTimeout = time.Second
)

// A PartitionStatus is what a worker shows of one partition.
type PartitionStatus struct {
	Partition int32
	Stage     string
	Reason    string // why it stands still; empty when well

	NextOffset int64
	Published  int64
}

// setTrouble notes what keeps the whole lane from working; empty when well.
func (w *Worker) setTrouble(trouble string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = trouble
}

// Ready tells whether the lane works, and if not, why. A lane whose other
// partitions go on works; why then names those that are halted.
func (w *Worker) Ready() (ok bool, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble != "" {
		return false, w.o.Lane.Name + ": " + w.trouble
	}
	var waiting, halted []string
	for _, p := range w.shown {
		line := fmt.Sprintf("%s[%d]: %s", w.o.Topic(), p.Partition, p.Reason)
		switch {
		case p.Stage == string(stageHalted):
			halted = append(halted, line)
		case p.Reason != "":
			waiting = append(waiting, line)
		}
	}
	ok = len(waiting) == 0 && (len(halted) == 0 || len(halted) < len(w.shown))
	return ok, strings.Join(append(waiting, halted...), "; ")
}

// Status returns what the worker holds, as of its last round.
func (w *Worker) Status() []PartitionStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.shown)
}

// observe shows where the partitions stand; the loop alone touches them, so
// that what others read is a copy.
func (w *Worker) observe() {
	counts := map[stage]int{stageAssigned: 0, stageOwned: 0, stageHalted: 0}
	held := w.held()
	shown := make([]PartitionStatus, len(held))
	for i, p := range held {
		counts[p.stage]++
		shown[i] = PartitionStatus{
			Partition: p.id, Stage: string(p.stage), Reason: p.reason,
			NextOffset: p.next, Published: p.published,
		}
	}
	for s, n := range counts {
		w.o.Metrics.Partitions(w.o.Lane.Name, string(s), n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = shown
}

// watchLag measures lag until ctx ends, and finds out by it whether the broker
// answers. It runs beside the loop, so that a
// broker that answers slowly holds nothing up.
func (w *Worker) watchLag(ctx context.Context) {
	for sleep(ctx, lagEvery) {
		w.measureDeadLetters(ctx)
		switch err := w.measureLag(ctx); {
		case err == nil:
			w.setTrouble("")
		case ctx.Err() == nil:
			w.setTrouble("kafka: " + err.Error())
		}
	}
}

// measureDeadLetters tells how many stand open. A database that is away shows by
// the partitions that wait for it.
func (w *Worker) measureDeadLetters(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	depths, err := w.o.Ledger.DeadLetterDepth(ctx)
	if err != nil {
		w.o.Logger.DebugContext(ctx, "dead letters not counted", "error", err)
		return
	}
	for class, depth := range depths {
		w.o.Metrics.DeadLetters(string(class), depth)
	}
}

func (w *Worker) measureLag(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	ends, err := w.admin.ListCommittedOffsets(ctx, w.o.Topic())
	if err != nil {
		return err
	}
	behind := map[int32]kgo.Offset{}
	lag := map[int32]int64{}
	for _, p := range w.Status() {
		end, ok := ends.Lookup(w.o.Topic(), p.Partition)
		if !ok || end.Err != nil || p.Stage == string(stageAssigned) {
			continue
		}
		lag[p.Partition] = max(0, end.Offset-p.NextOffset)
		if lag[p.Partition] > 0 {
			behind[p.Partition] = kgo.NewOffset().At(p.NextOffset)
		}
	}
	ages := w.measureAges(ctx, behind)
	for id, records := range lag {
		w.o.Metrics.Lag(w.o.Lane.Name, id, records, ages[id])
	}
	return nil
}

// measureAges looks at the oldest record not yet settled of each partition that
// is behind. Where the log has none any more, there is no age to tell.
func (w *Worker) measureAges(ctx context.Context, behind map[int32]kgo.Offset) map[int32]time.Duration {
	ages := make(map[int32]time.Duration, len(behind))
	if len(behind) == 0 {
		return ages
	}
	// A few bytes a partition are enough: the broker sends one batch at least.
	reader, err := w.openReader(map[string]map[int32]kgo.Offset{w.o.Topic(): behind}, kgo.FetchMaxPartitionBytes(1))
	if err != nil {
		return ages
	}
	defer reader.close()
	ctx, cancel := context.WithTimeout(ctx, ageTimeout)
	defer cancel()
	for len(ages) < len(behind) {
		fetches, err := reader.poll(ctx, w.o.MaxPollRecords)
		if err != nil {
			break // what is known by now is told
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if _, known := ages[r.Partition]; !known {
				ages[r.Partition] = max(0, time.Since(r.Timestamp))
			}
		})
	}
	return ages
}
