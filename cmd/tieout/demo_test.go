package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/settle"
)

// What the issues promise of the files, written down here once more: the demo's
// own expectations come with the files.
func monthFigures() demoFigures {
	return demoFigures{
		Lines: 42_944, AutoPosts: 40_290, Disputes: 1_312, DeadLetters: 890, Duplicates: 452,
		LedgerRows: 41_602, CurrentTotal: "36864.04",
	}
}

func juneFigures() demoFigures {
	return demoFigures{
		Lines: 13_093, Rejected: 5, AutoPosts: 12_923, DeadLetters: 12, Duplicates: 153,
		LedgerRows: 12_923, CurrentTotal: "9922614.21",
	}
}

// demoEnvironment is what tests hand to commands that start a Postgres.
func demoEnvironment() []string {
	return []string{"TIEOUT_CACHE=" + os.Getenv("TIEOUT_CACHE")}
}

func TestDemo_SettlesBothMonthsOnAPostgresOfItsOwnAndLeavesNothing(t *testing.T) {
	files := emptyTemporaryFolder(t)
	got := invoke(t, demoEnvironment(), "demo", "--format", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Empty(t, got.stderr)

	var report demoReport
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.Len(t, report.Streams, 2)
	for i, c := range []struct {
		stream     string
		figures    demoFigures
		deliveries [][]int64 // sent, rejected, applied, skipped, dead lettered
		disputes   int       // that are shown
	}{
		{"sales", monthFigures(), [][]int64{{42_944, 0, 41_602, 452, 890}, {42_944, 0, 0, 42_054, 890}}, exampleCount},
		{"trades", juneFigures(), [][]int64{{13_088, 5, 12_923, 153, 12}, {13_088, 5, 0, 13_076, 12}}, 0},
	} {
		settled := report.Streams[i]
		require.Equal(t, c.stream, settled.Stream)
		require.Equal(t, c.figures, settled.Figures)
		require.Empty(t, settled.Differences)
		require.Len(t, settled.Deliveries, len(c.deliveries))
		for j, want := range c.deliveries {
			d := settled.Deliveries[j]
			require.Equal(t, want, []int64{d.Sent, d.Rejected, d.Applied, d.Skipped, d.DeadLettered})
			require.Positive(t, d.Rate)
			require.Len(t, d.Busy, 4)
		}
		require.Len(t, settled.Disputes, c.disputes)
		require.Len(t, settled.DeadLetters, exampleCount)
	}
	requireStatement(t, report.Streams[1])
	requireEmptyFolder(t, files)
	requireNoProcess(t, files)
}

// requireStatement requires that June's statement ties to the cent, and that of
// the one that was altered the one line is found.
func requireStatement(t *testing.T, june *streamReport) {
	t.Helper()
	require.True(t, june.Statement.Ties)
	require.Empty(t, june.Statement.Findings)
	require.EqualValues(t, 12_235, june.Statement.Lines)
	require.EqualValues(t, 12_235, june.Statement.All.Trades)
	require.Equal(t, []string{"9922614.21", "9922614.21", "0.00"},
		[]string{june.Statement.All.Statement, june.Statement.All.Ledger, june.Statement.All.Difference})

	require.False(t, june.Altered.Ties)
	require.Equal(t, "0.01", june.Altered.All.Difference)
	require.Len(t, june.Altered.Findings, 1)
	require.Equal(t, "T-CAPITL-2019061212", june.Altered.Findings[0].TradeID)
	require.Equal(t, []string{"half_up", "up", "ceiling"}, june.Altered.Findings[0].Roundings)
}

func TestDemo_ShowsAPersonWhatCameOfIt(t *testing.T) {
	database := bystanderDatabase(t)
	files := emptyTemporaryFolder(t)
	before := databaseObjects(t, database)

	got := invoke(t, append(demoEnvironment(), "DATABASE_URL="+plainLogin(t, database),
		"TIEOUT_BROKERS=127.0.0.1:1", "TIEOUT_TLS=true", "TIEOUT_TOPIC_PREFIX=mine.", "TIEOUT_SCHEMA=mine"), "demo")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Empty(t, got.stderr)
	for _, want := range []string{
		"auto_post           40,290", "dispute              1,312", "dead_letter            890", "duplicate_skipped      452",
		"in the ledger       41,602  GBP 36,864.04",
		"records a second", "postgres ",
		"41031  V019    539750    764.88  63.74      701.14  GBP",
		" 143  V029    C536379  it claims for -1 units: they can't be negative",
		`there is no promotion tier "gold ?"`,
		"Every line ties: for each of the 42,944 lines that were sent",
		"Delivered again: 0 posted, 42,054 skipped as duplicates, 890 dead letters. The ledger still has\n41,602 rows, GBP 36,864.04 in all.",

		"rejected                 5", "newest versions     12,235   USD 9,922,614.21",
		"13028  T-WEST-2019060701    1        its price is 15.28, posted is 15.21 for the same version",
		"Every line ties: for each of the 13,088 lines that were sent",
		"Delivered again: 0 posted, 13,076 skipped as duplicates, 12 dead letters.",
		"ties to the cent, line by line:\n12,235 trades, 9,922,614.21 on both sides.",
		"With 0.01 more on one of its lines, `tieout reconcile` has 1 finding of 12,235 trades:",
		"rounding: T-CAPITL-2019061212 at CAPITL, 2019-06-12T12:00:00Z: the statement has 1549.67 (line 274),\n" +
			"the ledger 1549.66 in version 1: 0.01 more; it is 88.3 x 17.55 rounded half_up or up or ceiling\n",
	} {
		require.Contains(t, got.stdout, want)
	}
	for line := range strings.Lines(got.stdout) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), proseColumns, line)
		require.NotContains(t, line, " \n")
	}
	require.Equal(t, before, databaseObjects(t, database), "what is there stays, and the demo's own goes")
	requireEmptyFolder(t, files)
}

func TestDemo_InterruptedInAnyPhaseLeavesNothing(t *testing.T) {
	database := bystanderDatabase(t)
	login := plainLogin(t, database)
	before := databaseObjects(t, database)
	for _, delay := range []time.Duration{0, 30 * time.Millisecond} {
		// What comes again is as it was, but for the statement.
		for _, name := range []string{
			"start", "setup", "trades: produce", "trades: settle", "trades: compare", "trades: reconcile", "trades: reconcile altered",
		} {
			t.Run(name+" "+delay.String(), func(t *testing.T) {
				files := emptyTemporaryFolder(t)
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				a := &app{stderr: testOutput{t}}
				d := a.newDemo(&config{DatabaseURL: login, LogLevel: "error"}, tradesOfTheDemo())
				phases := d.phases()
				at := slices.IndexFunc(phases, func(p phase) bool { return p.name == name })
				whole := phases[at].do
				phases[at].do = func(ctx context.Context) error {
					timer := time.AfterFunc(delay, interrupt)
					defer timer.Stop()
					return whole(ctx)
				}
				err := d.run(ctx, phases[:at+1])
				require.NoError(t, d.sandbox.close(ctx))
				if ctx.Err() != nil {
					require.ErrorIs(t, err, context.Canceled)
				}
				require.Equal(t, before, databaseObjects(t, database))
				requireEmptyFolder(t, files)
			})
		}
	}
}

func TestDemo_ProcessEndsOnASignalAndLeavesNothing(t *testing.T) {
	program := filepath.Join(installPrograms(t), "tieout")
	for _, after := range []time.Duration{300 * time.Millisecond, 900 * time.Millisecond, 1800 * time.Millisecond, 2700 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			files := emptyTemporaryFolder(t)
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program, "demo")
			cmd.Env = append(demoEnvironment(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "TMPDIR="+files)
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(syscall.SIGINT) })
			defer timer.Stop()
			if err := cmd.Wait(); err != nil { // else it was faster than the signal
				require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
				require.Equal(t, "tieout: interrupted\n", stderr.String())
			}
			requireEmptyFolder(t, files)
			requireNoProcess(t, files)
		})
	}
}

// demoWith runs the demo with one file, of which the test expects something else
// than what comes of it.
func demoWith(t *testing.T, file demoFile, expect func(*demoRun)) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: testOutput{t}}
	d := a.newDemo(&config{DatabaseURL: devstack.TestDatabase(t), LogLevel: "error"}, file)
	phases := d.phases()
	start := phases[0].do
	phases[0].do = func(ctx context.Context) error {
		err := start(ctx)
		expect(d.runs[0])
		return err
	}
	err = d.run(t.Context(), phases)
	require.NoError(t, d.sandbox.close(t.Context()))
	require.NoError(t, err)
	err = d.show()
	return out.String(), err
}

func TestDemo_SaysWhatDoesNotTieAndFails(t *testing.T) {
	stdout, err := demoWith(t, claimsOfTheDemo(), func(r *demoRun) {
		want := &r.tie.lines[0].want
		require.Equal(t, settle.AutoPost, want.outcome)
		want.amount = amount("0.30")
		r.report.Expected.CurrentTotal = "36864.03"
	})
	require.ErrorContains(t, err, "what was settled is not what was expected: 6 differences")
	require.Equal(t, exitFailed, exitCode(err))
	require.Contains(t, stdout, "It does NOT tie: 6 differences from what is expected of the file.\n"+
		"  in Postgres: line 2 of delivery 1: ledger row of recon.accrue")
	require.Contains(t, stdout, "on the topics: line 2 of delivery 1: record recon.autopost[")
	require.Contains(t, stdout, "has amount 0.31, 0.30 is expected")
	require.Contains(t, stdout, "CurrentTotal:36864.03")
}

func TestDemo_SaysWhereAStatementDoesNotTieAndFails(t *testing.T) {
	file := tradesOfTheDemo()
	altered, err := file.statement.alter()
	require.NoError(t, err)
	var gzipped bytes.Buffer
	w := gzip.NewWriter(&gzipped)
	_, err = w.Write(altered)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	file.statement.text = gzipped.Bytes()

	stdout, err := demoWith(t, file, func(r *demoRun) {
		i := slices.IndexFunc(r.tie.lines, func(line demoLine) bool { return line.want.outcome == rejected })
		r.tie.lines[i].want.reason = settle.ReasonNotADecimal
	})
	require.ErrorContains(t, err, "what was settled is not what was expected: 4 differences")
	require.Contains(t, stdout, "in the file of rejects: line 11385 has reason \"too_many_fraction_digits\", \"not_a_decimal\" is expected")
	require.Contains(t, stdout, "in the statement: 1 findings of 12235 trades, which come to 9922614.21 in the ledger")
	require.Contains(t, stdout, "in the statement altered: 1 findings")
	require.Contains(t, stdout, "does NOT tie: 1 finding.")
}

func TestDemo_HasNoDatabaseToWorkIn(t *testing.T) {
	files := emptyTemporaryFolder(t)
	got := invoke(t, []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, "demo")
	require.Equal(t, exitFailed, got.code)
	require.Regexp(t, `^tieout: setup: database nobody@127\.0\.0\.1:1/none: .*refused.*\n$`, got.stderr)
	requireEmptyFolder(t, files)
}

// testOutput sends what a command says to the test's log.
type testOutput struct{ t *testing.T }

func (o testOutput) Write(text []byte) (int, error) {
	o.t.Log(strings.TrimSpace(string(text)))
	return len(text), nil
}
