package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/schemas"
)

// producerInstallation returns the variables of what producers need, the
// kfake cluster in it, and goes to an empty folder.
func producerInstallation(t *testing.T) (env []string, kafka *devstack.Kafka) {
	t.Helper()
	t.Chdir(t.TempDir())
	kafka = devstack.TestKafka(t, kfake.SeedTopics(2, "recon.validate", "recon.accrue", "recon.dlq", "etrm.trades", producer.ManifestTopic))
	url := devstack.TestRegistry(t).URL()
	registry, err := codec.NewRegistry(codec.RegistryOptions{URL: url})
	require.NoError(t, err)
	defer registry.Close()
	for subject, schema := range map[string]string{
		"recon.validate-value": schemas.SalesEnvelope, "recon.accrue-value": schemas.SalesEnvelope, "etrm.trades-value": schemas.TradeRecord,
		producer.ManifestTopic + "-value": schemas.Manifest,
	} {
		_, _, err := registry.Register(t.Context(), subject, schema)
		require.NoError(t, err)
	}
	return []string{"TIEOUT_BROKERS=" + strings.Join(kafka.Brokers(), ","), "TIEOUT_REGISTRY_URL=" + url}, kafka
}

const (
	claimsHeader = "vendor_id,store_id,retailer_invoice,line_item_hash,promo_tier,claim_period," +
		"agreement_version,qualifying_units,tier_rate,claimed_amount,currency,transaction_date\n"
	goodLine = "V1,STORE-1,INV-1,h1,GOLD,2010-Q4,3,6,0.051,,GBP,2010-12-01T08:26:00Z\n"
	badLine  = "V1,STORE-1,INV-2,h2,GOLD,2010-Q4,3,1E3,0.051,,GBP,2010-12-01T08:26:00Z\n"
)

func writeClaims(t *testing.T, name string, text ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(text, "")), 0o600))
}

func TestProduce_ReportsInWordsAndInJSON(t *testing.T) {
	env, _ := producerInstallation(t)
	writeClaims(t, "claims.csv", strings.Replace(claimsHeader, "\n", ",note\n", 1), strings.Replace(goodLine, "\n", ",seen\n", 1))

	got := invoke(t, env, "produce", "sales", "claims.csv", "--run-id", "december")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Empty(t, got.stderr, "no progress bar in a pipe")
	require.Regexp(t, `^file       claims\.csv
run        december
delivery   [0-9A-Z]{26}
topic      recon\.accrue
lines      1
sent       1 in \d+\.\d s
partitions [01]: 1
rejected   0
not used   note
$`, got.stdout)

	got = invoke(t, env, "produce", "sales", "claims.csv", "--tier", "fast_path", "--format", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	var report producer.Report
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.Equal(t, producer.FastPath, report.Tier)
	require.Equal(t, "recon.validate", report.Topic)
	require.EqualValues(t, 1, report.Sent)
	require.Regexp(t, "^sales-", report.RunID)
}

func TestProduce_RefusedLinesAreFound(t *testing.T) {
	env, _ := producerInstallation(t)
	writeClaims(t, "claims.csv", claimsHeader, goodLine, badLine, "V1,too few\n")

	got := invoke(t, env, "produce", "sales", "claims.csv")
	require.Equal(t, exitFound, got.code)
	require.Equal(t, "tieout: 2 of 3 lines refused: claims.csv.rejects.csv says which and why\n", got.stderr)
	require.Contains(t, got.stdout, "\nsent       1 in ")
	require.Contains(t, got.stdout, "\nrejected   2\n           not_a_decimal 1, wrong_field_count 1\n           claims.csv.rejects.csv\n")
	require.Equal(t, "line,field,value,reason,"+claimsHeader+
		"3,qualifying_units,1E3,not_a_decimal,"+badLine+
		"4,,2 fields instead of 12,wrong_field_count,V1,too few\n", readFile(t, "claims.csv.rejects.csv"))

	got = invoke(t, env, "produce", "sales", "claims.csv", "--strict", "--rejects", "other.csv")
	require.Equal(t, exitFound, got.code)
	require.Equal(t, "tieout: nothing is sent: 2 of 3 lines refused: other.csv says which and why\n", got.stderr)
	require.Contains(t, got.stdout, "\nsent       0 in ")
	require.FileExists(t, "other.csv")

	writeClaims(t, "claims.csv", claimsHeader, goodLine)
	got = invoke(t, env, "produce", "sales", "claims.csv")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.NoFileExists(t, "claims.csv.rejects.csv", "of the earlier try")
}

func TestProduce_TradesGoTheSameWay(t *testing.T) {
	env, _ := producerInstallation(t)
	const header = "trade_id,version,node_id,settlement_interval,mwh,price,currency,last_modified\n"
	const bad = "T-2,,HUD VL,2019-06-19T00:00:00-04:00,0.1,48.25,USD,\n"
	writeClaims(t, "trades.csv", header, "T-1,,HUD VL,2019-06-19T00:00:00-04:00,0.1,48.25,USD,2019-06-20T00:00:00Z\n", bad)
	got := invoke(t, env, "produce", "trades", "trades.csv")
	require.Equal(t, exitFound, got.code, got.stderr)
	require.Equal(t, "tieout: 1 of 2 lines refused: trades.csv.rejects.csv says which and why\n", got.stderr)
	require.Regexp(t, `(?m)^topic      etrm\.trades$`, got.stdout)
	require.Contains(t, got.stdout, "\nsent       1 in ")
	require.Equal(t, "line,field,value,reason,"+header+"3,version,,missing_version,"+bad, readFile(t, "trades.csv.rejects.csv"))

	got = invoke(t, env, "produce", "trades", "trades.csv", "--tier", "fast_path")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.stderr, "there is no flag --tier")
	writeClaims(t, "none.csv", "trade_id,node_id,settlement_interval,mwh,price,currency,last_modified\n")
	got = invoke(t, env, "produce", "trades", "none.csv")
	require.Equal(t, "tieout: none.csv: the header lacks the column version\n", got.stderr)
}

func TestProduce_DryRunNeedsNoServers(t *testing.T) {
	t.Chdir(t.TempDir())
	writeClaims(t, "claims.csv", claimsHeader, goodLine, badLine)
	got := invoke(t, nil, "produce", "sales", "claims.csv", "--dry-run")
	require.Equal(t, exitFound, got.code)
	require.Equal(t, "tieout: 1 of 2 lines refused: claims.csv.rejects.csv says which and why\n", got.stderr)
	require.Contains(t, got.stdout, "\nsent       nothing: this is a dry run\n")
}

func TestProduce_UnmappedVendorsAreRefused(t *testing.T) {
	env, _ := producerInstallation(t)
	writeClaims(t, "claims.csv", claimsHeader, goodLine)
	writeClaims(t, "vendors.txt", "V2\n")
	got := invoke(t, env, "produce", "sales", "claims.csv", "--vendors", "vendors.txt")
	require.Equal(t, exitFound, got.code)
	require.Contains(t, got.stdout, "unmapped_vendor 1")
}

func TestProduce_WhatIsWrongIsOneLine(t *testing.T) {
	env, _ := producerInstallation(t)
	writeClaims(t, "good.csv", claimsHeader, goodLine)
	writeClaims(t, "empty.csv")
	writeClaims(t, "column.csv", strings.Replace(claimsHeader, "currency,", "", 1), goodLine)
	writeClaims(t, "vendors.csv", "id,name\n")
	require.NoError(t, os.Mkdir("folder", 0o700))
	for name, test := range map[string]struct {
		args []string
		env  []string
		code int
		want string // the line, or its beginning where it ends with ...
	}{
		"no such file":           {args: []string{"none.csv"}, code: exitFailed, want: "none.csv: no such file or directory"},
		"a folder":               {args: []string{"folder"}, code: exitFailed, want: "folder: not a regular file"},
		"empty file":             {args: []string{"empty.csv"}, code: exitFailed, want: "empty.csv: the file is empty: want a header and lines"},
		"lacks a column":         {args: []string{"column.csv"}, code: exitFailed, want: "column.csv: the header lacks the column currency"},
		"no vendors":             {args: []string{"good.csv", "--vendors", "none.txt"}, code: exitFailed, want: "none.txt: no such file or directory"},
		"vendors not named":      {args: []string{"good.csv", "--vendors", "vendors.csv"}, code: exitFailed, want: "vendors.csv: the header lacks the column vendor_id: want it, or one vendor a line"},
		"rejects over a file":    {args: []string{"good.csv", "--rejects", "column.csv"}, code: exitFailed, want: "write refused lines: column.csv: another file is there, which isn't one of refused lines"},
		"rejects nowhere":        {args: []string{"good.csv", "--rejects", "none/r.csv"}, code: exitFailed, want: "write refused lines: none/r.csv: no such file or directory"},
		"broker not reachable":   {args: []string{"good.csv"}, env: []string{"TIEOUT_BROKERS=127.0.0.1:1"}, code: exitFailed, want: "no broker reachable at 127.0.0.1:1: check brokers (TIEOUT_BROKERS) and that Kafka runs: ..."},
		"registry not reachable": {args: []string{"good.csv"}, env: []string{"TIEOUT_REGISTRY_URL=http://127.0.0.1:1"}, code: exitFailed, want: "schema registry http://127.0.0.1:1: ..."},
		"topic missing":          {args: []string{"good.csv", "--topic-prefix", "x."}, code: exitFailed, want: "topic x.recon.accrue does not exist: run `tieout setup`"},
		"brokers not set":        {args: []string{"good.csv"}, env: []string{"TIEOUT_BROKERS="}, code: exitUsage, want: "brokers is not set: ..."},
		"standard input":         {args: []string{"-"}, code: exitUsage, want: "standard input can't be sent, since a file is read twice: write it to a file first"},
		"no file named":          {code: exitUsage, want: "accepts 1 arg(s), received 0"},
		"no such tier":           {args: []string{"good.csv", "--tier", "fast"}, code: exitUsage, want: `--tier: there is no tier "fast": want one of fast_path, compute_heavy, dead_letter`},
		"run id not readable":    {args: []string{"good.csv", "--run-id", "a\x1b[2J"}, code: exitUsage, want: `--run-id: the run id "a\x1b[2J" has characters that can't be printed`},
		"rejects over a device":  {args: []string{"good.csv", "--rejects", os.DevNull, "--dry-run"}, code: exitFailed, want: "write refused lines: " + os.DevNull + ": not a regular file"},
		"run id too long":        {args: []string{"good.csv", "--run-id", strings.Repeat("x", 237)}, code: exitUsage, want: "--run-id: the run id is longer than 236 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := invoke(t, append(append([]string{}, env...), test.env...), append([]string{"produce", "sales"}, test.args...)...)
			require.Equal(t, test.code, got.code)
			require.Empty(t, got.stdout)
			require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
			line := strings.TrimSuffix(strings.TrimPrefix(got.stderr, "tieout: "), "\n")
			if beginning, open := strings.CutSuffix(test.want, "..."); open {
				require.True(t, strings.HasPrefix(line, beginning), line)
				return
			}
			require.Equal(t, test.want, line)
		})
	}
	require.NoFileExists(t, "good.csv.rejects.csv")
}

func TestProduce_InterruptedSaysHowMuchIsAcknowledged(t *testing.T) {
	month, err := filepath.Abs(filepath.Join(root, "testdata", "sales", "retail_2010_12.claims.csv.gz"))
	require.NoError(t, err)
	env, kafka := producerInstallation(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first sync.Once
	kafka.Cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		kafka.Cluster.KeepControl()
		first.Do(cancel) // as main does on a signal
		return nil, nil, false
	})
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"produce", "sales", month, "--rejects", "rejects.csv"}, env, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitFailed, code)
	require.Regexp(t, `^tieout: \S+: interrupted; acknowledged up to here: [1-9]\d* lines; send the file again, duplicates are skipped\n$`, stderr.String())
	require.Empty(t, stdout.String())
}
