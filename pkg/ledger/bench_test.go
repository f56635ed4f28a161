package ledger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

// The commit protocol's step 3 against the most that the same table takes: COPY
// straight into it, encoded by the same hand, which no batch with a duplicate
// can use. Two connections, one posting in a hundred a duplicate.

const (
	benchRows  = 120_000
	benchConns = 2
	benchEvery = 100
)

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{4_000, 20_000} {
		b.Run(fmt.Sprintf("rows=%d", size), func(b *testing.B) { benchmarkCommit(b, size) })
	}
}

func BenchmarkCopyAlone(b *testing.B) {
	for _, size := range []int{4_000, 20_000} {
		b.Run(fmt.Sprintf("rows=%d", size), func(b *testing.B) { benchmarkCopyAlone(b, size) })
	}
}

func benchmarkCommit(b *testing.B, size int) {
	in, l, batches := newBenchmark(b, size, benchEvery)
	for round := 0; b.Loop(); round++ {
		b.StopTimer()
		in.emptyLedger()
		var sources []*testSource
		for i := range benchConns {
			sources = append(sources, in.acquire(l, fmt.Sprintf("claims%d", round), int32(i)))
		}
		b.StartTimer()
		eachConn(b, func(ctx context.Context, conn int) error {
			for _, entries := range batches[conn] {
				batch := sources[conn].batch(entries...)
				if err := l.Commit(ctx, batch); err != nil {
					return err
				}
				sources[conn].next = batch.Next
			}
			return nil
		})
	}
	reportRows(b)
	require.Equal(b, benchRows-benchRows/benchEvery, in.count(in.setup.Schema+".sales_ledger"))
}

func benchmarkCopyAlone(b *testing.B, size int) {
	in, l, batches := newBenchmark(b, size, 0)
	entries := slices.Concat(slices.Concat(batches...)...)
	for b.Loop() {
		b.StopTimer()
		in.emptyLedger()
		b.StartTimer()
		require.NoError(b, l.CopyAlone(b.Context(), entries, size))
	}
	reportRows(b)
}

// newBenchmark makes the batches of each connection. Every so many, an entry is
// a copy of one before.
func newBenchmark(b *testing.B, size, duplicateEvery int) (*installation, *Ledger, [][][]*settle.Entry) {
	b.Helper()
	in := newDatabase(b)
	l := in.open(func(o *Options) { o.MaxConns, o.Logger = benchConns, nil })
	batches := make([][][]*settle.Entry, benchConns)
	for conn := range batches {
		for at := 0; at < benchRows/benchConns; at += size {
			entries := make([]*settle.Entry, 0, size)
			for i := range size {
				n := at + i
				if duplicateEvery > 0 && i%duplicateEvery == duplicateEvery-1 {
					n -= duplicateEvery / 2
				}
				entries = append(entries, newClaim(fmt.Sprintf("INV-%d-%d", conn, n)))
			}
			batches[conn] = append(batches[conn], entries)
		}
	}
	b.ResetTimer()
	return in, l, batches
}

func (in *installation) emptyLedger() {
	in.exec("ALTER TABLE sales_ledger DISABLE TRIGGER append_only; TRUNCATE sales_ledger; ALTER TABLE sales_ledger ENABLE ALWAYS TRIGGER append_only")
}

func eachConn(b *testing.B, run func(ctx context.Context, conn int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for conn := range benchConns {
		wg.Go(func() {
			if err := run(b.Context(), conn); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

func reportRows(b *testing.B) {
	b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(b.Elapsed())/float64(time.Microsecond)/float64(b.N)/benchRows, "us/row")
}
