package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/settle"
)

// What keeps a worker from starting is one line that says what to do.
func TestRun_WhatItCantWorkWithIsOneLine(t *testing.T) {
	const nobody = "127.0.0.1:1" // where nobody listens
	for _, test := range []struct {
		name string
		env  func(t *testing.T, env []string) []string
		want []string
	}{
		{"no Postgres", replacing("TIEOUT_DATABASE_URL", "postgres://u:s3cret@"+nobody+"/db"), []string{"database u@" + nobody, "connection refused"}},
		{"Postgres refuses the password", withWrongPassword, []string{"password authentication failed"}},
		{"no broker", replacing("TIEOUT_BROKERS", nobody), []string{"no broker reachable at " + nobody, "TIEOUT_BROKERS"}},
		{"broker refuses the password", withSASLBroker, []string{"closed the connection: check TLS and SASL settings"}},
		{"no registry", replacing("TIEOUT_REGISTRY_URL", "http://"+nobody), []string{"schema registry http://" + nobody}},
		{"registry refuses the password", withGuardedRegistry, []string{"schema registry", "401"}},
		{"schema not migrated", replacing("TIEOUT_SCHEMA", "nothing_here"), []string{"run: tieout setup"}},
		{"topic missing", without("recon.validate"), []string{"topic recon.validate", "run: tieout setup"}},
		{"topic compacted", withCompacted, []string{"topic recon.accrue", "cleanup.policy", "set it to delete"}},
		{"a second consumer group", withSecondGroup, []string{"topic recon.validate is settled by consumer group", "one consumer group a topic"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			env := testInstallation(t)
			require.Zero(t, invoke(t, env, "setup").code)
			got := invoke(t, test.env(t, env), "run", "--drain", "--start-timeout", "1s", "--log-level", "error")
			assert.Equal(t, exitFailed, got.code)
			for _, want := range test.want {
				assert.Contains(t, got.stderr, want)
			}
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"), "one line: %s", got.stderr)
			assert.NotContains(t, got.stderr, "goroutine")
			assert.NotContains(t, got.stderr, "s3cret")
		})
	}
}

func replacing(name, value string) func(*testing.T, []string) []string {
	return func(_ *testing.T, env []string) []string {
		return append(append([]string{}, env...), name+"="+value)
	}
}

func withWrongPassword(t *testing.T, env []string) []string {
	url := lookupEnv(env, "TIEOUT_DATABASE_URL")
	at := strings.LastIndex(url, "@")
	colon := strings.LastIndex(url[:at], ":")
	return replacing("TIEOUT_DATABASE_URL", url[:colon]+":s3cret"+url[at:])(t, env)
}

func withSASLBroker(t *testing.T, env []string) []string {
	kafka := devstack.TestKafka(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "admin", "right"))
	return append(env, "TIEOUT_BROKERS="+strings.Join(kafka.Brokers(), ","),
		"TIEOUT_SASL_MECHANISM=PLAIN", "TIEOUT_SASL_USERNAME=admin", "TIEOUT_SASL_PASSWORD=s3cret")
}

func withGuardedRegistry(t *testing.T, env []string) []string {
	registry := devstack.TestRegistry(t)
	registry.Fake.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	return append(env, "TIEOUT_REGISTRY_URL="+registry.URL(), "TIEOUT_REGISTRY_USERNAME=u", "TIEOUT_REGISTRY_PASSWORD=s3cret")
}

func adminOf(t *testing.T, env []string) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(lookupEnv(env, "TIEOUT_BROKERS"), ",")...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func without(topic string) func(*testing.T, []string) []string {
	return func(t *testing.T, env []string) []string {
		_, err := adminOf(t, env).DeleteTopic(t.Context(), topic)
		require.NoError(t, err)
		return env
	}
}

func withCompacted(t *testing.T, env []string) []string {
	policy := "compact"
	_, err := adminOf(t, env).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &policy}}, "recon.accrue")
	require.NoError(t, err)
	return env
}

func withSecondGroup(t *testing.T, env []string) []string {
	sent := invoke(t, env, "produce", "sales", plantedClaims, "--tier", "fast_path", "--rejects", t.TempDir()+"/rejects.csv")
	require.Equal(t, exitFound, sent.code, sent.stderr)
	require.Zero(t, invoke(t, env, "run", "validate", "--drain").code)
	return append(env, "TIEOUT_GROUP_PREFIX=second.")
}

func TestRun_AnUnknownLaneIsWrongUsage(t *testing.T) {
	t.Parallel()
	env := []string{"TIEOUT_DATABASE_URL=postgres://h/d", "TIEOUT_BROKERS=h:1", "TIEOUT_REGISTRY_URL=http://h"}
	got := invoke(t, env, "run", "valdate")
	assert.Equal(t, exitUsage, got.code)
	assert.Contains(t, got.stderr, `no lane "valdate"`)
	assert.Contains(t, got.stderr, "validate")
}

func TestRun_FlagsThatCanNotBeMeantAreWrongUsage(t *testing.T) {
	t.Parallel()
	env := []string{"TIEOUT_DATABASE_URL=postgres://h/d", "TIEOUT_BROKERS=h:1", "TIEOUT_REGISTRY_URL=http://h"}
	for want, args := range map[string][]string{
		`--http: HTTP address ":nope" is not HOST:PORT: a port is a number of at most 65535`:                  {"--http", "nope"},
		`--http: HTTP address ":99999999" is not HOST:PORT: a port is a number of at most 65535`:              {"--http", ":99999999"},
		`--instance is empty: give a name that no other worker has, or leave it out`:                          {"--instance", ""},
		`--instance "a\nb" has characters that can't be printed: give a name of letters, digits and hyphens`:  {"--instance", "a\nb"},
		`--instance "a\xff" has characters that can't be printed: give a name of letters, digits and hyphens`: {"--instance", "a\xff"},
		`--instance is 101 bytes long: at most 100`:                                                           {"--instance", strings.Repeat("x", 101)},
		`--parallelism 65: between 1 and 64`:                                                                  {"--parallelism", "65"},
		`--parallelism 0: between 1 and 64`:                                                                   {"--parallelism", "0"},
		`--batch-records 0: between 1 and 200000`:                                                             {"--batch-records", "0"},
	} {
		got := invoke(t, env, append([]string{"run"}, args...)...)
		assert.Equal(t, invocation{exitUsage, "", "tieout: " + want + "\n"}, got)
	}
}

func TestRun_SaysAtItsEndWhatBecameOfTheRecords(t *testing.T) {
	t.Parallel()
	env := testInstallation(t)
	require.Zero(t, invoke(t, env, "setup").code)
	sent := invoke(t, env, "produce", "sales", plantedClaims, "--tier", "fast_path", "--rejects", t.TempDir()+"/rejects.csv")
	require.Equal(t, exitFound, sent.code, sent.stderr)
	got := invoke(t, env, "run", "validate", "--drain", "--log-format", "json")
	require.Zero(t, got.code, got.stderr)
	stopped := struct {
		Message  string `json:"msg"`
		Records  int64
		Outcomes map[string]int64
	}{}
	for line := range strings.Lines(got.stderr) {
		if strings.Contains(line, `"msg":"`+stoppedMessage+`"`) {
			require.NoError(t, json.Unmarshal([]byte(line), &stopped))
		}
	}
	require.Equal(t, stoppedMessage, stopped.Message, got.stderr)
	require.NotEmpty(t, stopped.Outcomes)
	var total int64
	for outcome, records := range stopped.Outcomes {
		require.Contains(t, []settle.Outcome{settle.AutoPost, settle.Dispute, settle.DuplicateSkipped, settle.DeadLetter}, settle.Outcome(outcome))
		total += records
	}
	require.Equal(t, stopped.Records, total)
}

// /readyz says why nothing is done, from the first moment on.
func TestRun_ServesHealthWhileItWaitsForADatabase(t *testing.T) {
	t.Parallel()
	env := append(testInstallation(t), "TIEOUT_DATABASE_URL=postgres://u@127.0.0.1:1/db")
	ctx, cancel := context.WithCancel(t.Context())
	address := closedPort(t)
	done := make(chan int)
	var stdout, stderr strings.Builder
	go func() { done <- run(ctx, []string{"run", "--http", address}, env, nil, &stdout, &stderr) }()
	require.Eventually(t, func() bool {
		answer := invoke(t, env, "health", "--http", address)
		return answer.code == exitFailed && strings.Contains(answer.stderr+answer.stdout, "the database")
	}, 20*time.Second, 50*time.Millisecond)
	cancel()
	assert.Zero(t, <-done, "a stop is no failure: %s", stderr.String())
}
