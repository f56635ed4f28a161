package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a statement of any length may take of this process' memory. Postgres,
// which sorts it, has bounds of its own.
const reconcileMemoryMax = 256 << 20

// The usual length is for everyday: at it, to keep the lines in memory would
// show already. 5,000,000 was run by hand.
func statementLines(t *testing.T) int {
	t.Helper()
	lines, err := strconv.Atoi(os.Getenv("TIEOUT_TEST_STATEMENT_LINES"))
	if err != nil {
		return 300_000
	}
	return lines
}

// postGenerated posts trades that generatedLine knows; every tenth has an older
// version as well.
const postGenerated = `
INSERT INTO trade_ledger (settlement_interval, reconciliation_key, version, revision, idempotency_key, trade_id, node_id, mwh, price, amount,
	currency, outcome, run_id, delivery, correlation_id, source, source_offset, rules_id)
SELECT to_char(timestamp '2019-01-01' + (i / 1000) * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), sha256(i::text::bytea), v, 0, sha256((i || ' ' || v)::bytea),
	'T-' || i, 'NODE-' || i % 500, i % 997 - 300, 10 + v / 100.0, (i % 997 - 300) * (10 + v / 100.0),
	'USD', 'auto_post', 'live', '', '', 1, i, 1
FROM generate_series(0, $1::int - 1) AS i, generate_series(CASE WHEN i % 10 = 0 THEN 0 ELSE 1 END, 1) AS v`

func generatedLine(i int) string {
	interval := time.Date(2019, 1, 1, i/1000, 0, 0, 0, time.UTC)
	cents := (i%997 - 300) * 1001
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("T-%d,NODE-%d,%s,%s%d.%02d\r\n", i, i%500, interval.Format(time.RFC3339), sign, cents/100, cents%100)
}

func TestReconcile_MemoryIsBoundedHoweverLongTheStatement(t *testing.T) {
	lines := statementLines(t)
	env := testInstallation(t)
	require.Equal(t, exitDone, invoke(t, env, "setup").code)
	executeSQL(t, env, postGenerated, lines)

	// In an order that has nothing to do with the ledger's: a step that shares no
	// factor with their number comes to each of them once.
	path := filepath.Join(t.TempDir(), "statement.csv")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(file)
	fmt.Fprint(w, "trade_id,node_id,settlement_interval,amount\r\n")
	const step = 1_000_003
	for k := range lines {
		fmt.Fprint(w, generatedLine(int(int64(k)*step%int64(lines))))
	}
	fmt.Fprint(w, "T-NEW,NODE-1,2019-01-01T00:00:00Z,1.00\r\n")
	require.NoError(t, w.Flush())
	require.NoError(t, file.Close())

	cmd := exec.Command(filepath.Join(installPrograms(t), "tieout"), "reconcile", path) //nolint:noctx // the test has a time-out
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	require.NoError(t, cmd.Start())
	ctx, cancel := context.WithCancel(t.Context())
	peak := make(chan int64, 1)
	go func() { peak <- watchMemory(ctx, cmd.Process.Pid) }()
	_ = cmd.Wait()
	took := time.Since(began)
	cancel()
	used := <-peak
	if used == 0 {
		used = maxResident(cmd.ProcessState)
	}
	t.Logf("%d lines in %s, at most %d MiB", lines, took.Round(time.Millisecond), used>>20)
	require.Equal(t, exitFound, cmd.ProcessState.ExitCode(), stderr.String())
	require.Equal(t, fmt.Sprintf("tieout: the statement doesn't tie: 1 finding of %s trades\n", grouped(int64(lines+1))), stderr.String())
	require.Less(t, used, int64(reconcileMemoryMax))
}
