package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/settle"
)

// testdataFile is a file that the project carries, whatever the working
// directory is.
func testdataFile(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{root, "testdata"}, parts...)...))
	require.NoError(t, err)
	return path
}

const (
	tradesHeader    = "trade_id,version,node_id,settlement_interval,mwh,price,currency\n"
	statementHeader = "trade_id,node_id,settlement_interval,amount\n"
)

// tradesInstallation has these trades settled, and goes to an empty folder.
func tradesInstallation(t *testing.T, file string) (env []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	env = testInstallation(t)
	require.Equal(t, exitDone, invoke(t, env, "setup", "--partitions", "2").code)
	got := invoke(t, env, "produce", "trades", file, "--rejects", "rejects.csv")
	require.Contains(t, []int{exitDone, exitFound}, got.code, got.stderr)
	got = invoke(t, env, "run", "trades", "--drain")
	require.Equal(t, exitDone, got.code, got.stderr)
	return env
}

// smallTrades are three trades, one of them with two versions.
func smallTrades(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trades.csv")
	require.NoError(t, os.WriteFile(path, []byte(tradesHeader+
		"T1,1,CAPITL,2019-06-01T12:00:00Z,10,3,USD\n"+
		"T1,2,CAPITL,2019-06-01T12:00:00Z,10,3.20,USD\n"+
		"T2,1,CAPITL,2019-06-01T12:00:00Z,0.1,48.25,USD\n"+
		"T3,1,HUD VL,2019-06-01T13:00:00Z,10,-3,USD\n"), 0o600))
	return path
}

func writeStatement(t *testing.T, name string, lines ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(statementHeader+strings.Join(lines, "\n")+"\n"), 0o600))
}

func TestReconcile_TheMarketsStatementsTieToTheCent(t *testing.T) {
	for name, c := range map[string]struct{ statement, trades, count, total string }{
		"June":    {testdataFile(t, "trades", "nyiso_2019_06.statement.csv.gz"), testdataFile(t, "trades", "nyiso_2019_06.trades.csv.gz"), "12,235", "9,922,614.21"},
		"planted": {testdataFile(t, "planted", "trades_planted.statement.csv"), testdataFile(t, "planted", "trades_planted.trades.csv"), "126", "10,000,000,524,176,631.01"},
	} {
		t.Run(name, func(t *testing.T) {
			env := tradesInstallation(t, c.trades)
			got := invoke(t, env, "reconcile", c.statement)
			require.Equal(t, exitDone, got.code, got.stderr)
			require.Empty(t, got.stderr)
			require.Contains(t, got.stdout, "All ties: "+c.count+" trades, "+c.total+" on both sides.")

			got = invoke(t, env, "reconcile", c.statement, "--format", "json")
			require.Equal(t, exitDone, got.code)
			var report comparisonReport
			require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
			require.True(t, report.Ties)
			require.Equal(t, c.count, grouped(report.All.Trades))
			require.Equal(t, c.total, groupedAmount(report.All.Statement))
			require.Equal(t, "0.00", report.All.Difference)
			require.Len(t, report.ByClass, 1)
		})
	}
}

func TestReconcile_FindingsAreExitCode3AndShownInEachFormat(t *testing.T) {
	env := tradesInstallation(t, smallTrades(t))
	writeStatement(t, "june.csv",
		"T1,CAPITL,2019-06-01T12:00:00Z,30",
		"T2,CAPITL,2019-06-01T12:00:00Z,4.83",
		"T4,HUD VL,2019-06-01T13:00:00Z,7.50",
	)
	got := invoke(t, env, "reconcile", "june.csv")
	require.Equal(t, exitFound, got.code)
	require.Equal(t, "tieout: the statement doesn't tie: 4 findings of 4 trades\n", got.stderr)
	require.Equal(t, `statement  june.csv
lines      3
tolerance  0.00

CLASS                 TRADES  STATEMENT  LEDGER  DIFFERENCE
rounding                   1       4.83    4.82        0.01
stale_version              1      30.00   32.00       -2.00
missing_in_ledger          1       7.50    0.00        7.50
missing_in_statement       1       0.00  -30.00       30.00
all                        4      42.33    6.82       35.51

NODE    TRADES  FINDINGS  STATEMENT  LEDGER  DIFFERENCE
CAPITL       2         2      34.83   36.82       -1.99
HUD VL       2         2       7.50  -30.00       37.50

The findings:
  T3 at HUD VL, 2019-06-01T13:00:00Z: the ledger has -30.00 in version 1, the statement has no such line
  T4 at HUD VL, 2019-06-01T13:00:00Z: the statement has 7.50 (line 4), the ledger has no such trade
  T1 at CAPITL, 2019-06-01T12:00:00Z: the statement has 30.00 (line 2), the ledger 32.00 in version 2: 2.00 less; it is that of version 1
  T2 at CAPITL, 2019-06-01T12:00:00Z: the statement has 4.83 (line 3), the ledger 4.82 in version 1: 0.01 more; it is 0.1 x 48.25 rounded half_up or up or ceiling
`, got.stdout)

	got = invoke(t, env, "reconcile", "june.csv", "--format", "csv")
	require.Equal(t, exitFound, got.code)
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 5)
	require.Equal(t, []string{"stale_version", "T1", "CAPITL", "2019-06-01T12:00:00Z", "2", "0", "30.00", "32.00", "-2.00", "2"}, rows[1][:10])
	require.Equal(t, []string{"missing_in_ledger", "T4", "HUD VL", "2019-06-01T13:00:00Z", "", "", "7.50", "", "7.50", "4"}, rows[4][:10])

	got = invoke(t, env, "reconcile", "june.csv", "--format", "json")
	require.Equal(t, exitFound, got.code)
	var report struct {
		Findings []shownFinding
		comparisonReport
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.Len(t, report.Findings, 4)
	require.Len(t, report.Largest, 4)
	require.False(t, report.Ties)
	require.EqualValues(t, 1, *report.Findings[0].StaleVersion)
	require.Equal(t, []string{"half_up", "up", "ceiling"}, report.Findings[1].Roundings)
	require.Nil(t, report.Findings[2].StatementAmount)
	require.Equal(t, "HUD VL", *report.Findings[3].NodeID)
}

func TestReconcile_TheFlagsBoundWhatIsCompared(t *testing.T) {
	env := tradesInstallation(t, smallTrades(t))
	writeStatement(t, "june.csv", "T1,CAPITL,2019-06-01T12:00:00Z,32.00", "T2,CAPITL,2019-06-01T12:00:00Z,4.83", "T3,HUD VL,2019-06-01T13:00:00Z,-31")
	require.NoError(t, os.WriteFile("other.csv", []byte("Trade;Start\n"), 0o600))
	require.NoError(t, os.WriteFile("mapped.csv", []byte("Trade,Start,Charge\nT3,2019-06-01T09:00:00-04:00,-30\n"), 0o600))
	for line, code := range map[string]int{
		"june.csv":                                                              exitFound,
		"june.csv --tolerance 1":                                                exitDone,
		"june.csv --tolerance 0.99":                                             exitFound,
		"june.csv --node CAPITL --tolerance 0.01":                               exitDone,
		"june.csv --from 2019-06-01T09:00:00-04:00":                             exitFound,
		"june.csv --from 2019-06-01 --to 2019-06-01T13:00:00Z":                  exitFound,
		"june.csv --from 2019-06-01 --to 2019-06-01T13:00:00Z --tolerance 0.01": exitDone,
		"june.csv --from 2020-06-01":                                            exitFound,
		"mapped.csv --columns trade_id=Trade,settlement_interval=Start,amount=Charge --from 2019-06-01T13:00:00Z": exitDone,
	} {
		got := invoke(t, env, append([]string{"reconcile"}, strings.Fields(line)...)...)
		require.Equal(t, code, got.code, "%s: %s%s", line, got.stdout, got.stderr)
	}
}

func TestReconcile_WhatIsWrongIsOneLine(t *testing.T) {
	env := tradesInstallation(t, smallTrades(t))
	writeStatement(t, "bad.csv", "T1,CAPITL,2019-06-01T12:00:00Z,32.00", "T2,CAPITL,2019-06-01T12:00:00Z,\"4,83\"", "T3,HUD VL,yesterday,-30")
	writeStatement(t, "good.csv", "T1,CAPITL,2019-06-01T12:00:00Z,32.00")
	require.NoError(t, os.WriteFile("nodeless.csv", []byte("trade_id,settlement_interval,amount\n"), 0o600))
	for line, want := range map[string]struct {
		code   int
		stderr string
	}{
		"bad.csv": {exitFailed, `bad.csv:3: amount "4,83": not_a_decimal; ` +
			`bad.csv:4: settlement_interval "yesterday": invalid_interval, want its start in RFC 3339 with a zone, such as 2019-06-19T00:00:00-04:00; nothing was compared`},
		"none.csv":                                   {exitFailed, "none.csv: no such file or directory"},
		"good.csv --columns amount=charge":           {exitFailed, "good.csv: the header lacks the column charge"},
		"good.csv --columns charge=amount":           {exitUsage, `--columns: there is no field "charge" to read a column into: there are trade_id, settlement_interval, amount, node_id, mwh, price, currency`},
		"good.csv --columns amount=node_id":          {exitUsage, "--columns: the column node_id can't be both amount and node_id"},
		"nodeless.csv --node CAPITL":                 {exitUsage, "--node: the statement has no column of nodes, so it can't be compared node by node"},
		"good.csv --tolerance -1":                    {exitUsage, "the tolerance is -1: want 0 or more"},
		"good.csv --tolerance 1c":                    {exitUsage, `--tolerance: decimal "1c": not a decimal in plain notation`},
		"good.csv --from June":                       {exitUsage, `--from: "June" is neither a time of RFC 3339, such as 2019-06-01T00:00:00-04:00, nor a date`},
		"good.csv --from 2019-07-01 --to 2019-06-01": {exitUsage, "no interval is from 2019-07-01T00:00:00Z on and before 2019-06-01T00:00:00Z"},
		"good.csv --yes":                             {exitUsage, "--yes is for --open-disputes: give both, or neither"},
		"- ":                                         {exitUsage, "standard input can't be compared, since a file is read twice: write it to a file first"},
		"nodeless.csv --from 2030-01-01":             {exitFound, "nothing was compared: neither the statement nor the ledger has anything in the scope"},
	} {
		got := invoke(t, env, append([]string{"reconcile"}, strings.Fields(line)...)...)
		require.Equal(t, want.code, got.code, "%s: %s", line, got.stderr)
		require.Equal(t, "tieout: "+want.stderr+"\n", got.stderr, line)
		require.Empty(t, got.stdout, line)
	}
}

func TestReconcile_OpensEachDisputeOnceHoweverOftenItIsRun(t *testing.T) {
	env := tradesInstallation(t, smallTrades(t))
	writeStatement(t, "june.csv",
		"T1,CAPITL,2019-06-01T12:00:00Z,30",
		"T2,CAPITL,2019-06-01T12:00:00Z,4.82",
		"T2,CAPITL,2019-06-01T12:00:00Z,4.82",
		"T4,HUD VL,2019-06-01T13:00:00Z,7.50",
	)
	got := invoke(t, env, "reconcile", "june.csv", "--open-disputes")
	require.Equal(t, exitFound, got.code)
	require.Equal(t, "tieout: the statement doesn't tie: 4 findings of 4 trades; no dispute is opened: give --yes, too, to enqueue what is found\n", got.stderr)
	require.Empty(t, disputeRecords(t, env, "etrm.findings"))

	const rows = `SELECT string_agg(concat_ws(' ', class, trade_id, coalesce(node_id, '-'), trade_version, statement_amount, ledger_amount, amount, outcome), E'\n' ORDER BY trade_id)
		FROM %s.dispute`
	for range 3 {
		got = invoke(t, env, "reconcile", "june.csv", "--open-disputes", "--yes")
		require.Equal(t, exitFound, got.code, got.stderr)
		require.Regexp(t, `4 findings enqueued as run findings-[0-9a-f]{16}, delivery [0-9A-Z]{26}: .tieout run findings. settles them\.`, got.stdout)
		got = invoke(t, env, "run", "findings", "--drain")
		require.Equal(t, exitDone, got.code, got.stderr)

		require.Equal(t, strings.Join([]string{
			"stale_version T1 CAPITL 2 30.000000000 32.000000000 32.00 dispute",
			"duplicate_in_statement T2 CAPITL 1 9.640000000 4.820000000 4.82 dispute",
			"missing_in_statement T3 HUD VL 1 -30.000000000 -30.00 dispute",
			"missing_in_ledger T4 HUD VL 7.500000000 0.00 dispute",
		}, "\n"), ask(t, env, fmt.Sprintf(rows, lookupEnv(env, "TIEOUT_SCHEMA"))))
		require.Len(t, disputeRecords(t, env, "etrm.dispute"), 4)
		require.Empty(t, disputeRecords(t, env, "etrm.dlq"))
	}
	require.Len(t, disputeRecords(t, env, "etrm.findings"), 12)
	require.Equal(t, "4 8 0 4", ask(t, env, "SELECT concat_ws(' ', sum(applied), sum(skipped), sum(dead_lettered), sum(disputed)) FROM "+
		lookupEnv(env, "TIEOUT_SCHEMA")+".run_counter WHERE run_id LIKE 'findings-%'"))
	require.Equal(t, "3", ask(t, env, "SELECT count(DISTINCT delivery)::text FROM "+lookupEnv(env, "TIEOUT_SCHEMA")+".run_counter WHERE run_id LIKE 'findings-%'"))

	// Another amount on the statement is another dispute; what it was stays.
	writeStatement(t, "june.csv", "T1,CAPITL,2019-06-01T12:00:00Z,31", "T2,CAPITL,2019-06-01T12:00:00Z,4.82", "T3,HUD VL,2019-06-01T13:00:00Z,-30")
	require.Equal(t, exitFound, invoke(t, env, "reconcile", "june.csv", "--open-disputes", "--yes").code)
	require.Equal(t, exitDone, invoke(t, env, "run", "findings", "--drain").code)
	require.Equal(t, "5", ask(t, env, "SELECT count(*)::text FROM "+lookupEnv(env, "TIEOUT_SCHEMA")+".dispute_current"))
	for _, r := range disputeRecords(t, env, "etrm.dispute") {
		require.Regexp(t, `^findings-[0-9a-f]{16}(:\d+)?$`, headerOf(r, settle.HeaderCorrelationID))
	}
}

// disputeRecords are the committed records of a topic.
func disputeRecords(t *testing.T, env []string, topic string) (records []*kgo.Record) {
	t.Helper()
	brokers := strings.Split(lookupEnv(env, "TIEOUT_BROKERS"), ",")
	require.NoError(t, readCommitted(t.Context(), []kgo.Opt{kgo.SeedBrokers(brokers...)}, []string{topic}, func(r *kgo.Record) error {
		records = append(records, r)
		return nil
	}))
	return records
}

func headerOf(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// executeSQL runs a statement in the installation's schema.
func executeSQL(t *testing.T, env []string, sql string, args ...any) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), lookupEnv(env, "TIEOUT_DATABASE_URL"))
	require.NoError(t, err)
	defer connection.Close(context.WithoutCancel(t.Context()))
	_, err = connection.Exec(t.Context(), "SET search_path = "+lookupEnv(env, "TIEOUT_SCHEMA"))
	require.NoError(t, err)
	_, err = connection.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// ask returns what a query answers, as text.
func ask(t *testing.T, env []string, sql string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, query(t.Context(), &out, lookupEnv(env, "TIEOUT_DATABASE_URL"), sql))
	return strings.TrimSpace(out.String())
}

func TestReconcile_OpeningDisputesSaysWhatIsAway(t *testing.T) {
	env := tradesInstallation(t, smallTrades(t))
	writeStatement(t, "june.csv", "T1,CAPITL,2019-06-01T12:00:00Z,30")
	for variable, want := range map[string]string{
		"TIEOUT_BROKERS=127.0.0.1:1":             "tieout: no broker reachable at 127.0.0.1:1: check brokers",
		"TIEOUT_TOPIC_PREFIX=x.":                 "tieout: topic x.etrm.findings does not exist: run `tieout setup`",
		"TIEOUT_REGISTRY_URL=http://127.0.0.1:1": "tieout: schema registry http://127.0.0.1:1: ",
		"TIEOUT_BROKERS=":                        "tieout: brokers is not set: ",
	} {
		got := invoke(t, append(append([]string{}, env...), variable), "reconcile", "june.csv", "--open-disputes", "--yes")
		require.NotEqual(t, exitFound, got.code)
		require.True(t, strings.HasPrefix(got.stderr, want), got.stderr)
		require.Empty(t, got.stdout)
	}
}
