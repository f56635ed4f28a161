package devstack

import (
	"context"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// addressesOf returns host and port of everything in a stack's environment.
func addressesOf(t *testing.T, environment map[string]string) []string {
	t.Helper()
	registry, err := url.Parse(environment["TIEOUT_REGISTRY_URL"])
	require.NoError(t, err)
	addresses := strings.Split(environment["TIEOUT_BROKERS"], ",")
	return append(addresses, registry.Host, hostOf(t, environment["DATABASE_URL"]))
}

// requireGone finds nothing listening and no temporary folder.
func requireGone(t *testing.T, p *program) {
	t.Helper()
	for _, address := range addressesOf(t, p.environment) {
		requireClosed(t, address)
	}
}

func temporaryHomesIn(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, temporaryHomes+"*"))
	require.NoError(t, err)
	return found
}

func TestStack_EndsWithItsParent(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "", nil)
	require.Equal(t, "1", query(t, p.environment[databaseVariable], "SELECT 1"))

	require.Error(t, p.end(t, syscall.SIGKILL))

	requireGone(t, p)
}

func TestStack_CleansUpOnCtrlC(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := startProgram(t, "", nil)
			require.Len(t, temporaryHomesIn(t, p.temporary), 1)

			require.NoError(t, p.end(t, signal), p.errors)

			requireGone(t, p)
			require.Empty(t, temporaryHomesIn(t, p.temporary))
		})
	}
}

func TestStack_KeepsItsDataThoughItWasKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	p := startProgram(t, dir, nil)
	require.NoError(t, execute(t.Context(), p.environment[databaseVariable], "CREATE TABLE kept AS SELECT 41602 AS rows"))
	fill(t, strings.Split(p.environment["TIEOUT_BROKERS"], ","))
	registry := p.environment["TIEOUT_REGISTRY_URL"]
	require.Equal(t, 1, register(t, registry, "other-value", secondSchema))
	require.Equal(t, 2, register(t, registry, "lines-value", firstSchema))
	require.Error(t, p.end(t, syscall.SIGKILL))

	stack, err := Start(t.Context(), Options{DataDir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, stack.Close()) }()

	require.Equal(t, "41602", query(t, stack.DatabaseURL(), "SELECT rows FROM kept"))
	requireFilled(t, stack.Kafka.Brokers())
	require.Equal(t, 2, register(t, stack.Registry.URL(), "lines-value", firstSchema))
}

func TestStack_RunsForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	var as *account // the user of this test, unless that's root
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		require.NoError(t, err)
		uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
		require.NoError(t, err)
		gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
		require.NoError(t, err)
		as = &account{name: nobody.Username, uid: uint32(uid), gid: uint32(gid)}
	}

	p := startProgram(t, "", as)

	require.Equal(t, "1", query(t, p.environment[databaseVariable], "SELECT 1"))
	require.NoError(t, p.end(t, syscall.SIGTERM), p.errors)
	requireGone(t, p)
}

func TestStack_IsAloneInItsFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	first, err := Start(t.Context(), Options{DataDir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()

	_, err = Start(t.Context(), Options{DataDir: dir})

	var inUse *DataInUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, DataInUseError{Dir: dir}, *inUse)
}

func TestStack_LeavesNothingRunningWhenItCannotStart(t *testing.T) {
	t.Setenv("TMPDIR", openDir(t))
	port := takePort(t)

	_, err := Start(t.Context(), Options{RegistryPort: port})

	var inUse *PortInUseError
	require.ErrorAs(t, err, &inUse)
	require.NotContains(t, err.Error(), "\n")
	require.Empty(t, temporaryHomesIn(t, os.TempDir()))
}

func TestStack_LeavesNothingRunningWhenItsStartIsCutShort(t *testing.T) {
	t.Setenv("TMPDIR", openDir(t))
	for _, patience := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)

		stack, err := Start(ctx, Options{})
		cancel()

		if err == nil { // a fast machine
			err = stack.Close()
			require.NoError(t, err)
		}
		require.Empty(t, temporaryHomesIn(t, os.TempDir()), "cut after %v", patience)
	}
}

func TestStack_UsesTheDatabaseThatIsThere(t *testing.T) {
	stack, err := Start(t.Context(), Options{DatabaseURL: "postgres://somewhere/else"})
	require.NoError(t, err)
	defer func() { require.NoError(t, stack.Close()) }()

	require.Nil(t, stack.Postgres)
	require.Contains(t, stack.Environment(), "DATABASE_URL=postgres://somewhere/else")
}

func TestStack_TellsThatItsPostgresEnded(t *testing.T) {
	t.Parallel()
	stack, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, stack.Close()) }()
	require.NoError(t, syscall.Kill(serverPID(t, stack.Postgres.home.dir), syscall.SIGKILL))

	err = stack.Wait(t.Context())

	var failed *StartError
	require.ErrorAs(t, err, &failed)
}
