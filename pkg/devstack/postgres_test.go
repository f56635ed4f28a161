package devstack

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// startPostgres starts a server that the test's end stops.
func startPostgres(t *testing.T, opts PostgresOptions) *Postgres {
	t.Helper()
	opts.Unsafe = opts.DataDir == "" // what is kept must survive a kill
	server, err := StartPostgres(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		select {
		case <-server.Exited(): // stopped by the test
		default:
			require.NoError(t, server.Stop())
		}
	})
	return server
}

// query returns the first column of the first row as text.
func query(t *testing.T, databaseURL, statement string) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	results, err := conn.Exec(t.Context(), statement).ReadAll()
	require.NoError(t, err)
	return string(results[0].Rows[0][0])
}

func hostOf(t *testing.T, databaseURL string) string {
	t.Helper()
	address, err := url.Parse(databaseURL)
	require.NoError(t, err)
	return address.Host
}

// serverPID reads the process id of a home's server.
func serverPID(t *testing.T, home string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, "data", "postmaster.pid"))
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	return pid
}

func TestPostgres_LeavesNothingBehindWhenTemporary(t *testing.T) {
	t.Parallel()
	server := startPostgres(t, PostgresOptions{})
	require.Equal(t, "1", query(t, server.URL(), "SELECT 1"))
	require.DirExists(t, server.home.dir)

	require.NoError(t, server.Stop())

	require.NoDirExists(t, server.home.dir)
	requireClosed(t, hostOf(t, server.URL()))
}

func TestPostgres_NeverRunsAsRoot(t *testing.T) {
	t.Parallel()
	server := startPostgres(t, PostgresOptions{})

	info, err := os.Stat(server.home.data())
	require.NoError(t, err)
	owner, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.NotZero(t, owner.Uid, "the server refuses to run unless it owns its data")
}

func TestPostgres_RefusesAConnectionWithoutItsPassword(t *testing.T) {
	t.Parallel()
	server := startPostgres(t, PostgresOptions{})
	address, err := url.Parse(server.URL())
	require.NoError(t, err)
	address.User = url.UserPassword(superuser, "guessed")

	err = ping(t.Context(), address.String())

	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "28P01", refused.Code)
}

func TestPostgres_KeepsPasswordAndDataOverRestarts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "kept")
	first := startPostgres(t, PostgresOptions{DataDir: dir})
	require.NoError(t, execute(t.Context(), first.URL(), "CREATE TABLE kept AS SELECT 41602 AS rows"))
	require.NoError(t, first.Stop())

	port, err := portOf(hostOf(t, first.URL()))
	require.NoError(t, err)
	second := startPostgres(t, PostgresOptions{DataDir: dir, Port: port})

	require.Equal(t, first.URL(), second.URL(), "a shell that has the address can go on")
	require.Equal(t, "41602", query(t, second.URL(), "SELECT rows FROM kept"))
}

func TestPostgres_RecoversWhenItsServerWasKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "kept")
	first := startPostgres(t, PostgresOptions{DataDir: dir})
	require.NoError(t, execute(t.Context(), first.URL(), "CREATE TABLE kept AS SELECT 41602 AS rows"))
	require.NoError(t, syscall.Kill(serverPID(t, dir), syscall.SIGKILL))
	<-first.Exited()
	require.NoError(t, first.Stop())

	second := startPostgres(t, PostgresOptions{DataDir: dir})

	require.Equal(t, "41602", query(t, second.URL(), "SELECT rows FROM kept"))
}

func TestPostgres_StartsThoughAnotherProgramHasItsOldProcessID(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "kept")
	require.NoError(t, startPostgres(t, PostgresOptions{DataDir: dir}).Stop())
	// A program of the server's own account is what it takes for itself.
	account, err := unprivilegedAccount()
	require.NoError(t, err)
	bystander := exec.CommandContext(t.Context(), "sleep", "60")
	bystander.Dir, bystander.SysProcAttr = "/", processAttributes(account)
	running, err := startProcess(bystander)
	require.NoError(t, err)
	defer running.end(syscall.SIGKILL, time.Minute)
	pidFile := filepath.Join(dir, "data", "postmaster.pid")
	text := strconv.Itoa(bystander.Process.Pid) + "\n" + dir + "/data\n1\n1\n\n127.0.0.1\n"
	require.NoError(t, os.WriteFile(pidFile, []byte(text), 0o600))
	require.NoError(t, account.own(pidFile))

	server := startPostgres(t, PostgresOptions{DataDir: dir})

	require.Equal(t, "1", query(t, server.URL(), "SELECT 1"))
}

func TestPostgres_StartsManyAtOnce(t *testing.T) {
	t.Parallel()
	for range 4 {
		t.Run("one of them", func(t *testing.T) {
			t.Parallel()
			server := startPostgres(t, PostgresOptions{})
			require.Equal(t, "1", query(t, server.URL(), "SELECT 1"))
		})
	}
}

func TestPostgres_StartsAgainAfterAStartThatWasKilledHalfWay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "kept")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data.partial", "base"), 0o755))

	server := startPostgres(t, PostgresOptions{DataDir: dir})

	require.Equal(t, "1", query(t, server.URL(), "SELECT 1"))
	require.NoDirExists(t, filepath.Join(dir, "data.partial"))
}

func TestPostgres_TellsWhyItDidNotStart(t *testing.T) {
	t.Parallel()
	t.Run("its port is in use", func(t *testing.T) {
		t.Parallel()
		port := takePort(t)

		_, err := StartPostgres(t.Context(), PostgresOptions{Port: port})

		var inUse *PortInUseError
		require.ErrorAs(t, err, &inUse)
		require.Equal(t, "port "+strconv.Itoa(port)+", asked for Postgres, is in use", err.Error())
	})
	t.Run("its configuration is wrong", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(openDir(t), "kept")
		require.NoError(t, startPostgres(t, PostgresOptions{DataDir: dir}).Stop())
		configuration := filepath.Join(dir, "data", "postgresql.auto.conf")
		require.NoError(t, os.WriteFile(configuration, []byte("shared_buffers = 'none'\n"), 0o600))

		_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})

		var failed *StartError
		require.ErrorAs(t, err, &failed)
		require.NotContains(t, err.Error(), "\n")
		require.Contains(t, err.Error(), "contains errors")
	})
	t.Run("its password isn't the one that was kept", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(openDir(t), "kept")
		require.NoError(t, startPostgres(t, PostgresOptions{DataDir: dir}).Stop())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte("lost\n"), 0o600))

		_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})

		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
	})
	t.Run("the caller lost patience", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		patience := errors.New("no patience")
		time.AfterFunc(50*time.Millisecond, func() { cancel(patience) })

		_, err := StartPostgres(ctx, PostgresOptions{})

		require.ErrorIs(t, err, patience)
	})
}

func TestPostgresOptions_RefuseAPortThatIsNone(t *testing.T) {
	require.Error(t, PostgresOptions{Port: -1}.Validate())
	require.Error(t, PostgresOptions{Port: 65536}.Validate())
	require.NoError(t, PostgresOptions{Port: 65535}.Validate())
}
