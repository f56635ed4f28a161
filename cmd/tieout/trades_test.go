package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/findings"
)

func plantedTrades() plantedStream {
	return plantedStream{
		"trades", "../../testdata/planted/trades_planted.trades.csv", "../../testdata/planted/trades_planted.expected.csv",
		"SELECT correlation_id, encode(idempotency_key, 'hex'), outcome, amount::text FROM %s.trade_ledger", "etrm.",
	}
}

// eachWayToBatch settles the planted trades in one batch, and each of them in a
// batch of its own.
func eachWayToBatch(t *testing.T, sameVersion string, check func(*planted)) {
	t.Helper()
	for name, c := range map[string]struct{ partitions, batchRecords string }{
		"all in one batch":                {"1", "20000"},
		"each line in a batch of its own": {"2", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanted(t, plantedTrades(), "--partitions", c.partitions)
			p.env = append(p.env, "TIEOUT_SAME_VERSION="+sameVersion)
			p.produce("planted", p.file.path)
			p.drain("--batch-records", c.batchRecords)
			check(p)
		})
	}
}

func TestPlantedTrades_ComeToWhatIsExpected(t *testing.T) {
	eachWayToBatch(t, "reject", func(p *planted) { p.assertEachLine(p.file) })
}

// Set to revise, what conflicts in quantity or price is the next revision; a
// currency that isn't the operator's is refused all the same.
func TestPlantedTrades_ConflictsBecomeRevisionsWhereTheyAreSetTo(t *testing.T) {
	// 77 MWh at 20, and 5 at 77.77.
	revisions := map[int]string{179: "1540.00", 184: "1540.00", 165: "1540.00", 26: "388.85", 15: "388.85", 256: "388.85"}
	eachWayToBatch(t, "revise", func(p *planted) {
		for i := range p.file.expected {
			want, line := &p.file.expected[i], i+2
			if want.reason != string(settle.ReasonConflictingDuplicate) {
				continue
			}
			want.outcome, want.reason = settle.AutoPost, ""
			if want.amount = revisions[line]; line == 299 { // a copy of line 15
				want.outcome = settle.DuplicateSkipped
			}
		}
		p.assertEachLine(p.file)
		require.Equal(p.t, []string{
			"PT1-0101 1 1 1540.00", "PT1-0102 1 1 1540.00", "PT1-0103 1 1 1540.00",
			"PT1-0104 1 1 388.85", "PT1-0105 1 1 388.85", "PT1-0106 1 1 388.85",
		}, p.revised())

		// The statement bills what came first.
		report := reconciled(p.t, p.env, testdataFile(p.t, "planted", "trades_planted.statement.csv"), exitFound)
		require.EqualValues(p.t, 6, report.FindingCount)
		for _, f := range report.Findings {
			require.Equal(p.t, findings.StaleVersion, f.Class, f.Words)
			require.EqualValues(p.t, 0, *f.StaleRevision)
		}

		// Whatever was before, the last one by offset counts, but for copies.
		p.correct("PT1-0101,1,CAPITL,2019-06-09T23:00:00Z,", "9,20", "7,20", "8,20", "9,20", "5,20")
		require.Equal(p.t, "PT1-0101 1 4 160.00", p.revised()[0])
		require.Len(p.t, p.revised(), 6)
	})
}

// revised are the trades whose current version is revised: trade, version,
// revision and amount.
func (p *planted) revised() []string {
	p.t.Helper()
	return strings.Split(p.query("SELECT trade_id, version, revision, amount::text FROM "+p.schema()+".trade_ledger_current WHERE revision > 0 ORDER BY trade_id"), "\n")
}

// correct sends versions of a trade once more, with these quantities and prices,
// and settles them.
func (p *planted) correct(identity string, figures ...string) {
	p.t.Helper()
	text := tradesHeader
	for _, mwhAndPrice := range figures {
		text += identity + mwhAndPrice + ",USD\n"
	}
	path := filepath.Join(p.t.TempDir(), "corrections.csv")
	require.NoError(p.t, os.WriteFile(path, []byte(text), 0o600))
	require.Equal(p.t, exitDone, invoke(p.t, p.env, "produce", "trades", path).code)
	p.drain()
}

// reconciled is what comes of comparing with a statement.
func reconciled(t *testing.T, env []string, statement string, code int) (report demoComparison) {
	t.Helper()
	got := invoke(t, env, "reconcile", statement, "--format", "json")
	require.Equal(t, code, got.code, got.stderr)
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	return report
}

// The year is beside the project, where there's room for it; the demo and others
// settle June.
func TestTrades_TheYearComesToWhatTheOperatorBills(t *testing.T) {
	year, err := filepath.Abs(filepath.Join(root, "..", "shared", "data", "trades", "nyiso_2019"))
	require.NoError(t, err)
	if _, err := os.Stat(year + ".trades.csv.gz"); err != nil {
		t.Skip("the year isn't here")
	}
	env := tradesInstallation(t, year+".trades.csv.gz")
	schema := lookupEnv(env, "TIEOUT_SCHEMA")
	require.Len(t, readCSV(t, "rejects.csv"), 1+58)
	require.Equal(t, "156030 1651 143", ask(t, env, "SELECT concat_ws(' ', sum(applied), sum(skipped), sum(dead_lettered)) FROM "+schema+".run_counter"))
	require.Equal(t, "148438 147875109.47", ask(t, env, "SELECT count(*) || ' ' || sum(amount) FROM "+schema+".trade_ledger_current"))

	report := reconciled(t, env, year+".statement.csv.gz", exitDone)
	require.True(t, report.Ties)
	require.Empty(t, report.Findings)
	require.EqualValues(t, 148_438, report.Lines)
	require.EqualValues(t, 148_438, report.All.Trades)
	require.Equal(t, []string{"147875109.47", "147875109.47", "0.00"}, []string{report.All.Statement, report.All.Ledger, report.All.Difference})
}
