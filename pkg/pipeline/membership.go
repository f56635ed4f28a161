package pipeline

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Which partitions are this worker's: what the group's callbacks say, held
// against what the client really has.

// assigned is told by the group; it only notes what is to be done at step 1.
func (w *Worker) assigned(_ context.Context, offsets map[int32]kgo.Offset) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, offset := range offsets {
		at := offset.EpochOffset()
		w.partitions[id] = newPartition(id, at.Offset, at.Epoch)
	}
}

// revoked writes the floors of what is given up while it is still ours, and
// forgets it.
func (w *Worker) revoked(ctx context.Context, ids []int32) {
	var leaving []*partition
	w.mu.Lock()
	for _, id := range ids {
		if p := w.partitions[id]; p != nil {
			leaving = append(leaving, p)
			delete(w.partitions, id)
			w.o.Metrics.Forget(w.o.Lane.Name, id)
		}
	}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), floorTimeout)
	defer cancel()
	for _, p := range leaving {
		// A floor that isn't written costs the successor a rebuild, no more.
		if _, err := w.writeFloor(ctx, p); err != nil {
			w.o.Logger.InfoContext(ctx, "floor not written on revoke", "partition", p.id, "error", err)
		}
	}
}

// lost forgets partitions that another may have by now.
func (w *Worker) lost(ids []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		delete(w.partitions, id)
		w.o.Metrics.Forget(w.o.Lane.Name, id)
	}
}

func (w *Worker) forgetPartitions() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.partitions {
		w.o.Metrics.Forget(w.o.Lane.Name, id)
	}
	clear(w.partitions)
}

// compareAssignment forgets what the client no longer holds: callbacks are only
// hints. A partition that is not acquired yet is sought first, which the client
// does for an assigned one only. It must run while no rebalance can.
func (w *Worker) compareAssignment(ctx context.Context) {
	partitions := w.held()
	for _, p := range partitions {
		if p.stage == stageAssigned {
			w.session.seek(w.o.Topic(), p.id, max(0, p.groupOffset), -1)
		}
	}
	holds := w.session.holds(w.o.Topic())
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range partitions {
		if !holds[p.id] && w.partitions[p.id] == p {
			w.o.Logger.InfoContext(ctx, "partition is gone without a revoke", "partition", p.id)
			delete(w.partitions, p.id)
			w.o.Metrics.Forget(w.o.Lane.Name, p.id)
		}
	}
}

// held returns the partitions in order of their ids.
func (w *Worker) held() []*partition {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make([]*partition, 0, len(w.partitions))
	for _, p := range w.partitions {
		held = append(held, p)
	}
	slices.SortFunc(held, func(a, b *partition) int { return int(a.id - b.id) })
	return held
}

func (w *Worker) partition(id int32) *partition {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.partitions[id]
}
