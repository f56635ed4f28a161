package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tieout/tieout/pkg/devstack"
)

// TestMain also lets this binary stand in for programs: tests that want a
// process of tieout, or what the documentation calls, run it under their names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "tieout":
		main()
	case "psql":
		psql()
	default:
		devstack.Main(m)
	}
}

// installPrograms makes a folder with the programs that this binary stands in
// for, to be put on the PATH.
func installPrograms(t *testing.T) (dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, name := range []string{"tieout", "psql"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// psql does what the documentation asks of Postgres' psql, which isn't on every
// machine: `psql URL -c SQL`.
func psql() {
	args := os.Args[1:]
	err := fmt.Errorf("this stand-in knows only: psql URL -c SQL, not %q", args)
	if len(args) == 3 && args[1] == "-c" {
		err = query(context.Background(), os.Stdout, args[0], args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "psql:", err)
		os.Exit(1) //nolint:forbidigo // stands in for another program's main
	}
}

// query writes what a database answers, a line a row.
func query(ctx context.Context, w io.Writer, url, sql string) error {
	connection, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer connection.Close(context.WithoutCancel(ctx))
	rows, err := connection.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		fmt.Fprintln(w, values...)
	}
	return rows.Err()
}

// An invocation is what one command line did.
type invocation struct {
	code           int
	stdout, stderr string
}

// invoke runs tieout in process with an environment of its own, in the
// working directory of the test.
func invoke(t *testing.T, env []string, args ...string) invocation {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, env, strings.NewReader(""), &stdout, &stderr)
	return invocation{code, stdout.String(), stderr.String()}
}

// testInstallation returns the variables of a Kafka, a registry and a database
// that are this test's alone.
func testInstallation(t *testing.T) (env []string) {
	t.Helper()
	return []string{
		"TIEOUT_DATABASE_URL=" + devstack.TestDatabase(t),
		"TIEOUT_SCHEMA=" + devstack.TestSchema(t),
		"TIEOUT_BROKERS=" + strings.Join(devstack.TestKafka(t).Brokers(), ","),
		"TIEOUT_REGISTRY_URL=" + devstack.TestRegistry(t).URL(),
	}
}
