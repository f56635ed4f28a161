package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A logReader reads committed records outside the group, within the same bounds
// of memory as the group's session.
type logReader struct {
	client *kgo.Client
	budget *fetchBudget
}

// openReader opens a reader of some partitions, each from an offset on.
func (w *Worker) openReader(from map[string]map[int32]kgo.Offset, more ...kgo.Opt) (*logReader, error) {
	budget, err := newFetchBudget(w.side, w.o.MaxFetchedBytes)
	if err != nil {
		return nil, err
	}
	opts := append([]kgo.Opt{}, w.o.Client...)
	opts = append(opts,
		kgo.ConsumePartitions(from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(w.o.MaxFetchBytes),
		kgo.FetchMaxPartitionBytes(w.o.MaxPartitionFetchBytes),
		kgo.WithDecompressor(budget),
		kgo.FetchMaxWait(250*time.Millisecond),
	)
	client, err := kgo.NewClient(append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka reader: %w", err)
	}
	return &logReader{client: client, budget: budget}, nil
}

// poll returns at most so many records, or the first error that isn't just a
// fetch that brought enough.
func (r *logReader) poll(ctx context.Context, limit int) (kgo.Fetches, error) {
	fetches := r.client.PollRecords(ctx, limit)
	r.budget.polled(r.client.BufferedFetchBytes())
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, errFetchBudget) {
			return nil, e.Err
		}
	}
	return fetches, nil
}

func (r *logReader) close() { r.client.Close() }
