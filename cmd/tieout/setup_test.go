package main

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
)

// setUpSteps runs setup and returns what it says it did.
func setUpSteps(t *testing.T, env []string, args ...string) []setupStep {
	t.Helper()
	got := invoke(t, env, append([]string{"setup", "--format", "json"}, args...)...)
	require.Equal(t, exitDone, got.code, got.stderr)
	var steps []setupStep
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &steps))
	return steps
}

func names(steps []setupStep, kind, state string) []string {
	var names []string
	for _, step := range steps {
		if step.Kind == kind && step.State == state {
			names = append(names, step.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestSetup_MakesEverythingOnceAndThenFindsItThere(t *testing.T) {
	env := testInstallation(t)
	topics := []string{"etrm.autopost", "etrm.dispute", "etrm.dlq", "etrm.findings", "etrm.trades", "recon.accrue", "recon.autopost", "recon.dispute", "recon.dlq", "recon.validate", "tieout.manifests"}
	subjects := []string{"etrm.autopost-value", "etrm.dispute-value", "etrm.findings-value", "etrm.trades-value", "recon.accrue-value", "recon.autopost-value", "recon.dispute-value", "recon.validate-value", "tieout.manifests-value"}

	planned := setUpSteps(t, env, "--dry-run")
	require.Equal(t, topics, names(planned, "topic", stateMissing))
	require.Equal(t, subjects, names(planned, "subject", stateMissing))
	require.NotEmpty(t, names(planned, "database", stateMissing))
	require.Equal(t, planned, setUpSteps(t, env, "--dry-run"), "a dry run changed something")

	made := setUpSteps(t, env)
	require.Equal(t, topics, names(made, "topic", stateMade))
	require.Equal(t, subjects, names(made, "subject", stateMade))
	require.Equal(t, names(planned, "database", stateMissing), names(made, "database", stateMade))

	for _, args := range [][]string{nil, {"--dry-run"}} {
		for _, step := range setUpSteps(t, env, args...) {
			require.Equal(t, stateThere, step.State, "%s %s", step.Kind, step.Name)
		}
	}
}

func TestSetup_TenAtOnceAreFine(t *testing.T) {
	env := testInstallation(t)
	var group sync.WaitGroup
	results := make([]invocation, 10)
	for i := range results {
		group.Go(func() { results[i] = invoke(t, env, "setup") })
	}
	group.Wait()
	for _, got := range results {
		require.Equal(t, exitDone, got.code, got.stderr)
	}
	require.Empty(t, names(setUpSteps(t, env), "topic", stateMade))
}

func TestSetup_KeepsInstallationsApartByPrefixAndSchema(t *testing.T) {
	env := testInstallation(t)
	setUpSteps(t, env)
	other := setUpSteps(t, append(env, "TIEOUT_TOPIC_PREFIX=other.", "TIEOUT_SCHEMA="+devstack.TestSchema(t)))
	require.Contains(t, names(other, "topic", stateMade), "other.recon.validate")
	require.Contains(t, names(other, "subject", stateMade), "other.recon.validate-value")
	require.Empty(t, names(other, "topic", stateThere))
}

func TestSetup_PrintsATableForPeople(t *testing.T) {
	env := testInstallation(t)
	got := invoke(t, env, "setup", "--dry-run", "--partitions", "3")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Regexp(t, `(?m)^topic     recon\.validate +missing  partitions 3, replicas 1$`, got.stdout)
	require.Contains(t, got.stdout, "Nothing was done. Without --dry-run, what is missing would be made: ")
	require.Empty(t, got.stderr)

	invoke(t, env, "setup")
	require.Contains(t, invoke(t, env, "setup", "--dry-run").stdout, "\nNothing is missing.\n")
}

func TestSetup_SaysInOneLineWhatIsWrong(t *testing.T) {
	env := testInstallation(t)
	require.Equal(t, exitDone, invoke(t, env, "setup", "--partitions", "3").code)

	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		want string
	}{
		"a number that can't be meant": {args: []string{"--partitions", "0"}, code: exitUsage, want: "partitions: 0 is not between 1 and"},
		"no broker":                    {env: []string{"TIEOUT_BROKERS=" + closedPort(t)}, code: exitFailed, want: "no broker reachable at 127.0.0.1:"},
		"no registry":                  {env: []string{"TIEOUT_REGISTRY_URL=http://" + closedPort(t)}, args: []string{"--partitions", "3"}, code: exitFailed, want: "schema registry http://127.0.0.1:"},
		"no database":                  {env: []string{"TIEOUT_DATABASE_URL=postgres://u:hunter2@" + closedPort(t) + "/d"}, code: exitFailed, want: "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := invoke(t, append(slices.Clone(env), c.env...), append([]string{"setup"}, c.args...)...)
			require.Equal(t, c.code, got.code)
			require.Contains(t, got.stderr, c.want)
			require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
			require.NotContains(t, got.stderr, "hunter2")
			require.Empty(t, got.stdout)
		})
	}
}

func TestSetup_SaysALineForEachTopicAtFault(t *testing.T) {
	env := testInstallation(t)
	require.Equal(t, exitDone, invoke(t, env, "setup", "--partitions", "3").code)
	got := invoke(t, env, "setup")
	require.Equal(t, exitFailed, got.code)
	require.Empty(t, got.stdout)
	require.Contains(t, got.stderr, "tieout: topic recon.validate: it has 3 partitions, not 6, ")
	require.Contains(t, got.stderr, "tieout: topic recon.accrue: it has 3 partitions, not 6, ")
	for line := range strings.Lines(got.stderr) {
		require.Regexp(t, `^tieout: topic \S+: it has 3 partitions, not 6, and setup doesn't grow topics: give --partitions 3 to keep it so\n$`, line)
	}
}

func TestSetup_ByARoleWithoutTheRightsSaysInOneLineWhatToDo(t *testing.T) {
	env := testInstallation(t)
	login := lookupEnv(env, "TIEOUT_SCHEMA") + "_login"
	admin := lookupEnv(env, "TIEOUT_DATABASE_URL")
	require.NoError(t, query(t.Context(), io.Discard, admin, "CREATE ROLE "+login+" LOGIN PASSWORD 'secret'"))
	t.Cleanup(func() {
		require.NoError(t, query(context.Background(), io.Discard, admin, "DROP ROLE "+login)) // the test's own context has ended
	})
	address, err := url.Parse(admin)
	require.NoError(t, err)
	address.User = url.UserPassword(login, "secret")
	got := invoke(t, append(env, "TIEOUT_DATABASE_URL="+address.String()), "setup")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
	require.Contains(t, got.stderr, "database role "+login+" lacks the rights to set up")
	require.Contains(t, got.stderr, `CREATE ROLE "`+lookupEnv(env, "TIEOUT_SCHEMA")+`_owner" NOLOGIN; `)
	require.NotContains(t, got.stderr, "secret")
}

func TestSetup_WaitsForServersWhereAskedTo(t *testing.T) {
	env := testInstallation(t)
	got := invoke(t, append(env, "TIEOUT_BROKERS="+closedPort(t)), "setup", "--start-timeout", "1s")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "waiting for a server")
	require.Contains(t, got.stderr, "tieout: no broker reachable")
}
