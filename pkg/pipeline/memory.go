package pipeline

import (
	"errors"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Memory is bounded where records become large: a fetch is bounded by what it
// brings compressed, and a thousand records of zeros are a kilobyte of that.

// errFetchBudget says that what was decompressed since the last poll is enough.
// The client then hands over what it has, and fetches the rest again.
var errFetchBudget = errors.New("enough is decompressed for one poll")

// A fetchBudget bounds the bytes that fetches decompress between two polls. The
// first batch after a poll always passes, so that there is progress; how large
// one batch may get is the inner decompressor's bound.
type fetchBudget struct {
	inner kgo.Decompressor
	limit int64
	spent atomic.Int64
}

// newFetchBudget bounds the decompressor that a client made with its own bound
// on a batch.
func newFetchBudget(client *kgo.Client, limit int64) (*fetchBudget, error) {
	inner, ok := client.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
	if !ok {
		return nil, errors.New("pipeline: the kafka client doesn't show its decompressor")
	}
	return &fetchBudget{inner: inner, limit: limit}, nil
}

// Decompress is kgo.Decompressor's.
func (b *fetchBudget) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if b.spent.Load() >= b.limit {
		return nil, errFetchBudget
	}
	out, err := b.inner.Decompress(src, codec)
	b.spent.Add(int64(len(out)))
	return out, err
}

// polled begins anew with what the client still holds.
func (b *fetchBudget) polled(buffered int64) { b.spent.Store(buffered) }

// pollLimit is how many records to poll, so that a batch of records as large as
// those that wait stays within its bytes.
func pollLimit(maxRecords, maxBytes int, records, bytes int64) int {
	if records < 1 || bytes < 1 {
		return maxRecords
	}
	each := max(1, bytes/records)
	return int(min(int64(maxRecords), max(1, int64(maxBytes)/each)))
}
