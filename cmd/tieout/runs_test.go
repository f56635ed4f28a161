package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/runs"
	"github.com/tieout/tieout/pkg/settle"
)

// runsInstallation is set up, and the folder is one with a file of claims.
func runsInstallation(t *testing.T, claims ...string) (env []string) {
	t.Helper()
	env = testInstallation(t)
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "testdata"}, claims...)...))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("claims.csv", text, 0o600))
	require.Equal(t, exitDone, invoke(t, env, "setup").code)
	return env
}

// produceRun sends the file as the run december, and returns its delivery.
func produceRun(t *testing.T, env []string, args ...string) string {
	t.Helper()
	got := invoke(t, env, append([]string{"produce", "sales", "claims.csv", "--run-id", "december", "--format", "json"}, args...)...)
	require.Contains(t, []int{exitDone, exitFound}, got.code, got.stderr)
	var report producer.Report
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	return report.Delivery
}

func drainLane(t *testing.T, env []string, lane string) {
	t.Helper()
	got := invoke(t, env, "run", lane, "--drain", "--log-level", "error")
	require.Equal(t, exitDone, got.code, got.stderr)
}

func shownDecember(t *testing.T, env []string, code int, args ...string) shownRun {
	t.Helper()
	got := invoke(t, env, append([]string{"runs", "show", "december", "--format", "json"}, args...)...)
	require.Equal(t, code, got.code, got.stderr)
	var shown shownRun
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &shown))
	return shown
}

func TestRunsShow_FollowsARunUntilAllOfItHasArrived(t *testing.T) {
	env := runsInstallation(t, "planted", "sales_planted.claims.csv")
	got := invoke(t, env, "runs", "list")
	require.Equal(t, invocation{exitDone, "Nothing was settled.\n", ""}, got)
	got = invoke(t, env, "runs", "show", "december")
	require.Equal(t, invocation{exitFailed, "", "tieout: there is no run december: nothing of it was settled, and no manifest names it\n"}, got)

	first := produceRun(t, env)
	got = invoke(t, env, "runs", "show", "december")
	require.Equal(t, exitFound, got.code)
	require.Contains(t, got.stdout, first+": incomplete: 0 of 329 records sent to recon.accrue arrived. Missing are:\n")
	require.Regexp(t, `(?m)^recon\.accrue          5    52        0       52$`, got.stdout)
	require.Equal(t, "tieout: run december isn't complete: 329 records missing\n", got.stderr)

	drainLane(t, env, "accrue")
	got = invoke(t, env, "runs", "show", "december")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Regexp(t, `(?m)^`+first+`  sales   recon\.accrue      164       89    76        36    329   329  complete  \S+Z  \S+Z$`, got.stdout)
	require.Contains(t, got.stdout, first+": complete: 329 of 329 records sent to recon.accrue arrived.\nqualifying_units: ")
	require.Contains(t, got.stdout, " dead-lettered, which is the same.\nRefused and not sent: 35 lines.\n")

	second := produceRun(t, env, "--tier", "fast_path")
	shown := shownDecember(t, env, exitFound)
	require.Equal(t, []runs.State{runs.Complete, runs.Incomplete}, []runs.State{shown.Parts[0].State, shown.Parts[1].State})
	shownDecember(t, env, exitDone, "--delivery", first)
	shownDecember(t, env, exitFound, "--delivery", second)

	drainLane(t, env, "validate")
	shown = shownDecember(t, env, exitDone)
	require.True(t, shown.Complete)
	require.EqualValues(t, 253, shown.Parts[1].Skipped)
	require.Equal(t, "0", shown.Parts[1].ControlSum.Applied)
	require.Equal(t, "0", shown.Parts[1].ControlSum.Difference)

	var list []deliveryCounts
	require.NoError(t, json.Unmarshal([]byte(invoke(t, env, "runs", "list", "--since", "1h", "--format", "json").stdout), &list))
	require.Equal(t, []string{second, first}, []string{list[0].Delivery, list[1].Delivery}, "the newest first")
	require.Equal(t, []deliveryCounts{shown.Parts[1].deliveryCounts, shown.Parts[0].deliveryCounts}, list)
	require.Len(t, strings.Split(strings.TrimSpace(invoke(t, env, "runs", "list", "--limit", "1").stdout), "\n"), 2)
	require.Equal(t, "Nothing was settled.\n", invoke(t, env, "runs", "list", "--since", "2999-01-01").stdout)
}

func TestRunsShow_TradesTieByTheirVolume(t *testing.T) {
	env := testInstallation(t)
	require.Equal(t, exitDone, invoke(t, env, "setup").code)
	june := filepath.Join("..", "..", "testdata", "trades", "nyiso_2019_06.trades.csv.gz")
	rejects := filepath.Join(t.TempDir(), "rejects.csv")
	for range 2 {
		require.Equal(t, exitFound, invoke(t, env, "produce", "trades", june, "--run-id", "december", "--rejects", rejects).code)
		drainLane(t, env, "trades")
	}
	shown := shownDecember(t, env, exitDone)
	for i, want := range []ledger.Counts{{Applied: 12_923, Skipped: 153, DeadLettered: 12}, {Skipped: 13_076, DeadLettered: 12}} {
		p := shown.Parts[i]
		require.Equal(t, runs.Complete, p.State)
		require.Equal(t, want, ledger.Counts{Applied: p.Applied, Skipped: p.Skipped, DeadLettered: p.DeadLettered})
		require.EqualValues(t, 5, *p.Rejected)
		require.Equal(t, "mwh", p.ControlSum.Quantity)
		require.Equal(t, "0", p.ControlSum.Difference)
		require.Zero(t, p.ControlSum.Unmeasured)
	}
}

func TestRunsShow_WithoutKafkaCountsAreShownAndCompletenessIsUnknown(t *testing.T) {
	env := runsInstallation(t, "claims", "carriage_returns", "claims.csv")
	delivery := produceRun(t, env)
	drainLane(t, env, "accrue")
	for _, without := range []string{"TIEOUT_BROKERS=", "TIEOUT_REGISTRY_URL="} {
		got := invoke(t, append(slices.Clone(env), without), "runs", "show", "december")
		require.Equal(t, exitFailed, got.code)
		require.Regexp(t, `(?m)^`+delivery+` .*  \?  unknown  `, got.stdout)
		require.Equal(t, 2, strings.Count(got.stdout, "\n"), got.stdout)
		require.Equal(t, "tieout: whether the run is complete is unknown: set brokers and registry-url, so that its manifests can be read\n", got.stderr)
	}
}

func TestRunsShow_AStrangersRecordsOnTheTopicStopNobody(t *testing.T) {
	env := runsInstallation(t, "claims", "carriage_returns", "claims.csv")
	produceRun(t, env)
	drainLane(t, env, "accrue")
	client, err := kgo.NewClient(kgo.SeedBrokers(lookupEnv(env, "TIEOUT_BROKERS")), kgo.DefaultProduceTopic(producer.ManifestTopic))
	require.NoError(t, err)
	defer client.Close()
	for _, value := range []string{"", "hello", "\x00\x00\x00\x00\x01junk", "\x00\x00\x00\x03\xe7"} {
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Key: []byte("december"), Value: []byte(value)}).FirstErr())
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Key: []byte("else"), Value: []byte(value)}).FirstErr())
	}
	got := invoke(t, env, "runs", "show", "december")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.True(t, strings.HasSuffix(got.stdout, "\n4 records under this run's key couldn't be read as a manifest.\n"), got.stdout)
}

func TestRuns_SayInOneLineWhatIsWrong(t *testing.T) {
	env := runsInstallation(t, "claims", "carriage_returns", "claims.csv")
	delivery := produceRun(t, env)
	for line, want := range map[string]struct {
		code   int
		stderr string
	}{
		"runs list --limit 0":                                  {exitUsage, "--limit 0: between 1 and 10000"},
		"runs list --since yesterday":                          {exitUsage, `--since: "yesterday" is none of 36h, 2026-09-01, 2026-09-01T08:00:00Z`},
		"runs list --since -1h":                                {exitUsage, `--since: "-1h" is none of`},
		"runs show":                                            {exitUsage, "accepts 1 arg(s), received 0"},
		"runs shows":                                           {exitUsage, `there is no command "tieout runs shows": did you mean "show"?`},
		"runs show december --delivery X":                      {exitFailed, "run december has no delivery X: it has " + delivery},
		"runs show december --topic-prefix other.":             {exitFailed, "topic other.tieout.manifests does not exist: run `tieout setup`"},
		"runs show december --brokers 127.0.0.1:1":             {exitFailed, "no broker reachable at 127.0.0.1:1"},
		"runs show december --registry-url http://127.0.0.1:1": {exitFailed, "schema registry http://127.0.0.1:1: schema "},
		"runs show december --schema nowhere":                  {exitFailed, "run: tieout setup"},
	} {
		t.Run(line, func(t *testing.T) {
			got := invoke(t, env, strings.Fields(line)...)
			require.Equal(t, want.code, got.code, got.stderr)
			require.Contains(t, got.stderr, want.stderr)
			require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
			require.Empty(t, got.stdout)
		})
	}
	got := invoke(t, nil, "runs", "list")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.stderr, "database-url is not set")
}

func TestParseSince_TakesHowLongAgoOrWhen(t *testing.T) {
	now := time.Date(2026, 9, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"36h":                       time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC),
		"0s":                        now,
		"2026-08-31":                time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC),
		"2026-08-31T08:00:00+02:00": time.Date(2026, 8, 31, 6, 0, 0, 0, time.UTC),
	} {
		got, err := parseSince(text, now)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
	}
	for _, text := range []string{"1d", "36", "-36h", "31.08.2026", "2026-02-30"} {
		_, err := parseSince(text, now)
		require.Error(t, err, text)
	}
}

func TestCountDeliveries_AddsUpTheTopicsOfAStream(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0).UTC() }
	summary := func(delivery, topic string, applied int64, first, last time.Time) ledger.DeliverySummary {
		return ledger.DeliverySummary{
			Delivery: settle.Delivery{RunID: "r", Delivery: delivery}, Topic: topic, Counts: ledger.Counts{Applied: applied, Disputed: 1}, First: first, Last: last,
		}
	}
	cfg := &config{TopicPrefix: "p."}
	got := countDeliveries([]ledger.DeliverySummary{
		summary("d2", "p.recon.accrue", 1, at(5), at(6)), summary("d2", "p.recon.validate", 2, at(4), at(9)), summary("d2", "recon.accrue", 4, at(1), at(2)),
		summary("d1", "p.recon.accrue", 8, at(1), at(2)),
	}, cfg.streamOf)
	counts := func(delivery, stream string, applied, disputed int64, first, last time.Time) deliveryCounts {
		return deliveryCounts{RunID: "r", Delivery: delivery, Stream: stream, Applied: applied, Disputed: disputed, Total: applied, FirstAt: &first, LastAt: &last}
	}
	require.Equal(t, []deliveryCounts{
		counts("d2", "sales", 3, 2, at(4), at(9)), counts("d2", "", 4, 1, at(1), at(2)), counts("d1", "sales", 8, 1, at(1), at(2)),
	}, got)
}

func TestShownName_IsFitForAColumn(t *testing.T) {
	require.Equal(t, "-", shownName(""))
	require.Equal(t, "Ünïcode 1", shownName("Ünïcode 1"))
	require.Equal(t, `"a\n\x1b[2Jb"`, shownName("a\n\x1b[2Jb"))
	require.Equal(t, `"\u202eevil"`, shownName("\u202eevil"), "text that turns around isn't printed")
}
