package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// probeTimeout bounds a look at the log from outside the group.
const probeTimeout = 5 * time.Second

// contiguous tells whether the records follow on the expected offset without
// one left out. Offsets have gaps of their own (transaction markers, aborted
// records), so that a gap is no proof; what a fetch outside the group finds is.
func (w *Worker) contiguous(ctx context.Context, p *partition, records []*kgo.Record) (bool, error) {
	expected := p.expected
	for i, r := range records {
		if r.Offset < expected {
			return false, fmt.Errorf("offset %d came after %d", r.Offset, expected-1)
		}
		if r.Offset > expected {
			return w.confirm(ctx, p.id, expected, records[i:])
		}
		expected = r.Offset + 1
	}
	return true, nil
}

// confirm reads the partition from an offset on, outside the group, and tells
// whether the first records there are these.
func (w *Worker) confirm(ctx context.Context, partition int32, from int64, records []*kgo.Record) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	probe, err := w.openReader(map[string]map[int32]kgo.Offset{w.o.Topic(): {partition: kgo.NewOffset().At(from)}})
	if err != nil {
		return false, err
	}
	defer probe.close()
	for len(records) > 0 {
		fetches, err := probe.poll(ctx, len(records))
		if err != nil {
			return false, fmt.Errorf("confirm %s[%d] from offset %d: %w", w.o.Topic(), partition, from, err)
		}
		for iter := fetches.RecordIter(); !iter.Done() && len(records) > 0; records = records[1:] {
			if found := iter.Next(); found.Offset != records[0].Offset {
				w.o.Logger.ErrorContext(ctx, "records left out by the client", "partition", partition,
					"handed", records[0].Offset, "found", found.Offset)
				return false, nil
			}
		}
	}
	return true, nil
}
