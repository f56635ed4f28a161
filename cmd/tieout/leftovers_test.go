package main

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
)

// What a command may leave behind: files, processes, and things in a database
// in which others have theirs.

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
