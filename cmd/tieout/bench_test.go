package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

func TestBenchSettle_MeasuresBothAndLeavesNothing(t *testing.T) {
	database := bystanderDatabase(t)
	before := databaseObjects(t, database)
	files := emptyTemporaryFolder(t)
	env := append(demoEnvironment(), "DATABASE_URL="+plainLogin(t, database), "TIEOUT_BROKERS=127.0.0.1:1", "PATH="+os.Getenv("PATH"))

	got := invoke(t, env, "bench", "settle", "--records", "3000", "--partitions", "2", "--format", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Empty(t, got.stderr)
	var report benchReport
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.Equal(t, 3000, report.Records)
	require.Positive(t, report.Limit.Rate)
	require.Positive(t, report.EndToEnd.Rate)
	require.InDelta(t, float64(report.EndToEnd.Rate)/float64(report.Limit.Rate), report.Ratio, 0.001)
	require.Greater(t, report.MemoryMiB, int64(5))
	require.Less(t, report.MemoryMiB, int64(500))
	require.Positive(t, report.Busy["postgres"])

	require.Equal(t, before, databaseObjects(t, database))
	requireEmptyFolder(t, files)
}

func TestBenchSettle_ShowsAPersonWhatItMeasured(t *testing.T) {
	files := emptyTemporaryFolder(t)
	got := invoke(t, append(demoEnvironment(), "PATH="+os.Getenv("PATH")), "bench", "settle", "--records", "1500", "--partitions", "1")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Contains(t, got.stdout, "1,500 claims, 1 partition\n")
	require.Regexp(t, `copying alone +[\d,]+/s  the limit: 2 connections, 20,000 rows a batch\n`, got.stdout)
	require.Regexp(t, `end to end +[\d,]+/s `, got.stdout)
	require.Regexp(t, `ratio +\d\.\d\d  wanted: at least 0\.35\n`, got.stdout)
	require.Regexp(t, `peak memory +\d+ MiB  wanted: at most 256 MiB\n`, got.stdout)
	requireEmptyFolder(t, files)
	requireNoProcess(t, files)
}

func TestBenchSettle_InterruptedInAnyPhaseLeavesNothing(t *testing.T) {
	database := bystanderDatabase(t)
	login := plainLogin(t, database)
	before := databaseObjects(t, database)
	for at := range (&settleBench{sandbox: &sandbox{}}).phases() {
		files := emptyTemporaryFolder(t)
		ctx, interrupt := context.WithCancel(t.Context())
		a := &app{stderr: testOutput{t}, env: []string{"PATH=" + os.Getenv("PATH")}}
		b := a.newSettleBench(&config{DatabaseURL: login, LogLevel: "error"}, benchFlags{records: 20_000, partitions: 2})
		phases := b.phases()
		whole := phases[at].do
		phases[at].do = func(ctx context.Context) error {
			timer := time.AfterFunc(50*time.Millisecond, interrupt)
			defer timer.Stop()
			return whole(ctx)
		}
		err := b.run(ctx, phases)
		require.NoError(t, b.sandbox.close(ctx), phases[at].name)
		if ctx.Err() != nil {
			require.ErrorIs(t, err, context.Canceled, phases[at].name)
		}
		interrupt()
		require.Equal(t, before, databaseObjects(t, database), phases[at].name)
		requireEmptyFolder(t, files)
		requireNoProcess(t, filepath.Base(files))
	}
}

func TestBenchSettle_RefusesWhatCannotBeMeasured(t *testing.T) {
	for _, args := range [][]string{{"--records", "0"}, {"--records", "100000000"}, {"--partitions", "0"}} {
		got := invoke(t, nil, append([]string{"bench", "settle"}, args...)...)
		require.Equal(t, exitUsage, got.code)
		require.Contains(t, got.stderr, args[0])
	}
}

func TestBenchClaims_AreAllDifferentAndPost(t *testing.T) {
	const records = 2000
	entries, err := benchEntries(t.Context(), records)
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, e := range entries {
		keys[e.Posting.Key.Hex()] = true
		require.Equal(t, settle.AutoPost, e.Posting.Outcome)
	}
	require.Len(t, keys, records)
}

func TestHighWater_IsOneProcessesOwn(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here")
	}
	require.Greater(t, highWater(os.Getpid()), int64(5<<20))
	require.Zero(t, highWater(1<<30))
}
