package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
)

// A devRun is `tieout dev` running beside the test.
type devRun struct {
	env    []string // what it exports
	stop   context.CancelFunc
	stderr *bytes.Buffer // read when it has ended
	code   chan int
}

// startDev runs dev until it has printed what it exports.
func startDev(t *testing.T, env []string, args ...string) *devRun {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	dev := &devRun{stop: stop, stderr: new(bytes.Buffer), code: make(chan int, 1)}
	out, stdout := io.Pipe()
	go func() {
		code := run(ctx, append([]string{"dev"}, args...), env, strings.NewReader(""), stdout, dev.stderr)
		_ = stdout.Close() // it never fails
		dev.code <- code
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		entry, ok := strings.CutPrefix(lines.Text(), "export ")
		require.True(t, ok, "stdout is for export lines: %q", lines.Text())
		dev.env = append(dev.env, entry)
		if strings.HasPrefix(entry, "TIEOUT_GROUP_PREFIX=") {
			return dev
		}
	}
	require.Fail(t, "dev didn't come up", "exit code %d: %s", <-dev.code, dev.stderr)
	return nil
}

// end stops it as Ctrl-C does.
func (d *devRun) end(t *testing.T) {
	t.Helper()
	d.stop()
	require.Equal(t, exitDone, <-d.code, d.stderr)
}

// devDir makes a folder that the user may enter whom Postgres runs as where
// this test is root; those of t.TempDir are closed to others.
func devDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tieout-dev-test-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // see above
	return filepath.Join(dir, "data")
}

// schemasIn lists tieout's schemas in a database.
func schemasIn(t *testing.T, databaseURL string) []string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close(context.Background())) }()
	rows, err := connection.Query(t.Context(), "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'tieout%' ORDER BY 1")
	require.NoError(t, err)
	schemas, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return schemas
}

func TestDev_IsSetUpForOtherTerminals(t *testing.T) {
	dev := startDev(t, nil)
	defer dev.end(t)

	for _, step := range setUpSteps(t, dev.env, "--dry-run") {
		require.Equal(t, stateThere, step.State, "%s %s", step.Kind, step.Name)
	}
	require.Equal(t, "tieout", lookupEnv(dev.env, "TIEOUT_SCHEMA"), "what the documentation's queries name")
	require.Equal(t, lookupEnv(dev.env, "DATABASE_URL"), lookupEnv(dev.env, "TIEOUT_DATABASE_URL"))
}

func TestDev_KeepsItsDataOverRestarts(t *testing.T) {
	dir := devDir(t)
	dev := startDev(t, nil, "--data", dir)
	first := setUpSteps(t, dev.env)
	dev.end(t)

	dev = startDev(t, nil, "--data", dir)
	defer dev.end(t)

	require.Equal(t, first, setUpSteps(t, dev.env), "topics, subjects and their ids are the same")
}

func TestDev_TakesTheDatabaseThatItIsGivenAndLeavesNothingInIt(t *testing.T) {
	database := devstack.TestDatabase(t)
	dev := startDev(t, []string{"DATABASE_URL=" + database})
	require.Equal(t, database, lookupEnv(dev.env, "DATABASE_URL"))
	require.Equal(t, []string{lookupEnv(dev.env, "TIEOUT_SCHEMA")}, schemasIn(t, database))

	dev.end(t)

	require.Empty(t, schemasIn(t, database))
}

func TestDev_TellsInOneLineWhyItDoesNotRun(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it's there at once
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	tests := map[string]struct {
		env  []string
		args []string
		code int
		says string
	}{
		"the port of Kafka is in use":        {nil, []string{"--kafka-port", port}, exitFailed, "port " + port + ", asked for Kafka, is in use"},
		"the port of the registry is in use": {nil, []string{"--registry-port", port}, exitFailed, "port " + port + ", asked for the schema registry, is in use"},
		"the port of Postgres is in use":     {nil, []string{"--postgres-port", port}, exitFailed, "port " + port + ", asked for Postgres, is in use"},
		"a port is none":                     {nil, []string{"--kafka-port", strconv.Itoa(1 << 16)}, exitUsage, "isn't between 0 and 65535"},
		"the database is away":               {[]string{"DATABASE_URL=postgres://127.0.0.1:1/postgres"}, nil, exitFailed, "unset DATABASE_URL"},
		"Kafka is to take a password":        {[]string{"TIEOUT_SASL_MECHANISM=PLAIN", "TIEOUT_SASL_USERNAME=u", "TIEOUT_SASL_PASSWORD=p"}, nil, exitUsage, "leave out tls and sasl-mechanism"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := invoke(t, test.env, append([]string{"dev", "--log-level", "error"}, test.args...)...)

			require.Equal(t, test.code, got.code, got.stderr)
			require.Empty(t, got.stdout)
			require.Contains(t, got.stderr, test.says)
			require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		})
	}
}

func TestShellWord_IsReadBackByAShell(t *testing.T) {
	require.Equal(t, "postgres://u:p@127.0.0.1:5432/db?sslmode=disable", shellWord("postgres://u:p@127.0.0.1:5432/db?sslmode=disable"))
	require.Equal(t, `'host=db password='\''a b'\'''`, shellWord("host=db password='a b'"))
	require.Equal(t, `'a&b'`, shellWord("a&b"))
	require.Empty(t, shellWord(""))
}
