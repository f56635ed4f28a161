package pipeline

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestPollLimit_HoldsABatchWithinItsBytes(t *testing.T) {
	const maxRecords, maxBytes = 20_000, 16 << 20
	for name, test := range map[string]struct {
		records, bytes int64
		want           int
	}{
		"nothing waits":           {0, 0, maxRecords},
		"usual records":           {10_000, 3_300_000, maxRecords},
		"large records":           {100, 100 << 20, 16},
		"a record beyond all":     {1, 64 << 20, 1},
		"records without a value": {5, 0, maxRecords},
	} {
		assert.Equal(t, test.want, pollLimit(maxRecords, maxBytes, test.records, test.bytes), name)
	}
}

func TestFetchBudget_LetsTheFirstPassAndThenWhatFits(t *testing.T) {
	budget := &fetchBudget{inner: expanding{}, limit: 100}
	out, err := budget.Decompress(make([]byte, 200), kgo.CodecNone)
	require.NoError(t, err)
	assert.Len(t, out, 200, "there is always progress")
	_, err = budget.Decompress(make([]byte, 1), kgo.CodecNone)
	require.ErrorIs(t, err, errFetchBudget)
	budget.polled(60)
	_, err = budget.Decompress(make([]byte, 30), kgo.CodecNone)
	require.NoError(t, err)
	_, err = budget.Decompress(make([]byte, 30), kgo.CodecNone)
	require.NoError(t, err)
	_, err = budget.Decompress(make([]byte, 1), kgo.CodecNone)
	require.ErrorIs(t, err, errFetchBudget)
}

type expanding struct{}

func (expanding) Decompress(src []byte, _ kgo.CompressionCodecType) ([]byte, error) { return src, nil }

// Records of zeros cost nothing to send and a megabyte each to hold.
func TestMemory_IsBoundedHoweverWellRecordsAreCompressed(t *testing.T) {
	in := newInstallation(t)
	const records, size = 300, 990_000
	zeros := bytes.Repeat([]byte{0}, size)
	producer, err := kgo.NewClient(kgo.SeedBrokers(in.brokers...), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	require.NoError(t, err)
	defer producer.Close()
	for range records {
		require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{Topic: in.lane.Topic, Value: zeros}).FirstErr())
	}
	before, most := liveHeap(), int64(0)
	in.drain(func(o *Options) {
		o.Metrics = &watchedMetrics{seen: func() { most = max(most, liveHeap()) }}
	})
	assert.Equal(t, "300", in.sql(`SELECT count(*)::text FROM dead_letter`))
	assert.Less(t, most-before, int64(200<<20), "of 300 MB that the records are")
}

// liveHeap is what is still in use after a collection.
func liveHeap() int64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// watchedMetrics looks whenever a stage is over.
type watchedMetrics struct {
	noMetrics
	seen func()
}

func (m *watchedMetrics) Outcomes(string, string, string, string, int) { m.seen() }
