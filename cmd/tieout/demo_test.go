package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// monthFigures are what the issue promises of the file, written down here once
// more: the demo's own expectation comes with the file.
func monthFigures() demoFigures {
	return demoFigures{
		Lines: 42_944, AutoPosts: 40_290, Disputes: 1_312, DeadLetters: 890, Duplicates: 452,
		LedgerRows: 41_602, LedgerTotal: "36864.04",
	}
}

// demoEnvironment is what tests hand to commands that start a Postgres.
func demoEnvironment() []string {
	return []string{"TIEOUT_CACHE=" + os.Getenv("TIEOUT_CACHE")}
}

func TestDemo_SettlesTheMonthOnAPostgresOfItsOwnAndLeavesNothing(t *testing.T) {
	files := emptyTemporaryFolder(t)
	got := invoke(t, demoEnvironment(), "demo", "--format", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Empty(t, got.stderr)

	var report demoReport
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.Equal(t, monthFigures(), report.Figures)
	require.Empty(t, report.Differences)
	require.Len(t, report.Deliveries, 2)
	first, again := report.Deliveries[0], report.Deliveries[1]
	require.Equal(t, []int64{42_944, 0, 41_602, 452, 890}, []int64{first.Sent, first.Rejected, first.Applied, first.Skipped, first.DeadLettered})
	require.Equal(t, []int64{42_944, 0, 0, 42_054, 890}, []int64{again.Sent, again.Rejected, again.Applied, again.Skipped, again.DeadLettered})
	require.Positive(t, first.Rate)
	require.Len(t, first.Busy, 4)
	require.Len(t, report.Disputes, exampleCount)
	require.Len(t, report.DeadLetters, exampleCount)

	requireEmptyFolder(t, files)
	requireNoProcess(t, files)
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
		"V022    C536391  it claims for -12 units: they can't be negative",
		`there is no promotion tier "gold ?"`,
		"Every line ties: for each of the 42,944 lines",
		"Delivered again: 0 posted, 42,054 skipped as duplicates, 890 dead letters. The ledger still has 41,602 rows, GBP 36,864.04 in all.",
	} {
		require.Contains(t, got.stdout, want)
	}
	require.Equal(t, before, databaseObjects(t, database), "what is there stays, and the demo's own goes")
	requireEmptyFolder(t, files)
}

func TestDemo_InterruptedInAnyPhaseLeavesNothing(t *testing.T) {
	database := bystanderDatabase(t)
	login := plainLogin(t, database)
	before := databaseObjects(t, database)
	for _, delay := range []time.Duration{0, 30 * time.Millisecond} {
		for at, phase := range (&demo{}).phases()[:5] {
			t.Run(phase.name+" "+delay.String(), func(t *testing.T) {
				files := emptyTemporaryFolder(t)
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				d := &demo{app: &app{stderr: testOutput{t}}, user: &config{DatabaseURL: login, LogLevel: "error"}}
				phases := d.phases()
				whole := phases[at].do
				phases[at].do = func(ctx context.Context) error {
					timer := time.AfterFunc(delay, interrupt)
					defer timer.Stop()
					return whole(ctx)
				}
				err := d.run(ctx, phases)
				require.NoError(t, d.close(ctx))
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
	for _, after := range []time.Duration{100 * time.Millisecond, 900 * time.Millisecond, 1800 * time.Millisecond, 2700 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			files := emptyTemporaryFolder(t)
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program, "demo")
			cmd.Env = append(demoEnvironment(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "TMPDIR="+files)
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(syscall.SIGINT) })
			defer timer.Stop()
			err := cmd.Wait()
			require.Error(t, err)
			require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
			require.Equal(t, "tieout: interrupted\n", stderr.String())
			requireEmptyFolder(t, files)
			requireNoProcess(t, files)
		})
	}
}

func TestDemo_SaysWhatDoesNotTieAndFails(t *testing.T) {
	var stdout bytes.Buffer
	d := &demo{app: &app{stdout: &stdout, stderr: testOutput{t}}, user: &config{DatabaseURL: devstack.TestDatabase(t), LogLevel: "error"}}
	phases := d.phases()
	settled := phases[3].do
	phases[3].do = func(ctx context.Context) error {
		for i := range d.tie.lines { // a file that expects something else
			if line := &d.tie.lines[i]; line.want.outcome == settle.AutoPost {
				line.want.amount.Decimal = line.want.amount.Decimal.Sub(money.MustParse("0.01"))
				break
			}
		}
		d.report.Expected.LedgerTotal = "36864.03"
		return settled(ctx)
	}
	err := d.run(t.Context(), phases)
	require.NoError(t, d.close(t.Context()))
	require.NoError(t, err)

	err = d.show()
	require.ErrorContains(t, err, "is not what the file expects")
	require.Equal(t, exitFailed, exitCode(err))
	require.Contains(t, stdout.String(), "It does NOT tie: 6 differences from what the file expects.\n"+
		"  in Postgres: line 2 of delivery 1: ledger row of recon.accrue")
	require.Contains(t, stdout.String(), "on the topics: line 2 of delivery 1: record recon.autopost[")
	require.Contains(t, stdout.String(), "has amount 0.31, 0.30 is expected")
	require.Contains(t, stdout.String(), "LedgerTotal:36864.03")
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

// emptyTemporaryFolder is where files of this process go until the test ends.
// Another user can enter it: as root, Postgres runs as one.
func emptyTemporaryFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tieout-test-") //nolint:usetesting // the test's own isn't open to others
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	t.Setenv("TMPDIR", dir)
	return dir
}

func requireEmptyFolder(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// requireNoProcess makes sure that nothing runs that was started with files in
// dir. Only systems with a /proc tell.
func requireNoProcess(t *testing.T, dir string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil {
			require.NotContains(t, string(line), dir)
		}
	}
}

// bystanderDatabase is one in which somebody else has something.
func bystanderDatabase(t *testing.T) (address string) {
	t.Helper()
	address = devstack.TestDatabase(t)
	schema := devstack.TestSchema(t)
	execute(t, address, "CREATE SCHEMA "+schema+"; CREATE TABLE "+schema+".kept (a int); CREATE ROLE "+schema+"_owner; CREATE ROLE "+schema+"_worker")
	return address
}

// plainLogin is the address for a role that is no superuser.
func plainLogin(t *testing.T, database string) string {
	t.Helper()
	role := devstack.TestSchema(t)
	address, err := url.Parse(database)
	require.NoError(t, err)
	name := strings.TrimPrefix(address.Path, "/")
	execute(t, database, "CREATE ROLE "+role+" LOGIN CREATEROLE PASSWORD 'secret'; GRANT CREATE ON DATABASE "+name+" TO "+role)
	t.Cleanup(func() { execute(t, database, "REVOKE ALL ON DATABASE "+name+" FROM "+role+"; DROP ROLE "+role) })
	address.User = url.UserPassword(role, "secret")
	return address.String()
}

func execute(t *testing.T, database, sql string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), database)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	_, err = conn.Exec(context.Background(), sql)
	require.NoError(t, err)
}

// databaseObjects lists schemas, tables and roles.
func databaseObjects(t *testing.T, database string) (objects []string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), database)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	rows, err := conn.Query(context.Background(), `
SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname !~ '^pg_'
UNION ALL SELECT 'relation ' || oid::regclass FROM pg_class WHERE relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^pg_')
UNION ALL SELECT 'role ' || rolname FROM pg_roles WHERE rolname ~ '^tieout_demo|^tieout_bench' ORDER BY 1`)
	require.NoError(t, err)
	objects, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return objects
}
