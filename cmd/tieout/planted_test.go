package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/settle"
)

// Every planted line comes to what the file beside it expects: in Postgres, on
// the topics as anybody reads them, and in the rejects; however the lines are
// cut into batches and spread over lanes.

const plantedClaims = "../../testdata/planted/sales_planted.claims.csv"

// A plantedStream is what the tests have to know of a stream.
type plantedStream struct {
	name     string
	file     string
	expected string
	posted   string // query of each row's correlation id, key that is expected, outcome and amount
	topics   string // what the names of the outcome topics begin with
}

func plantedSales() plantedStream {
	return plantedStream{
		"sales", plantedClaims, "../../testdata/planted/sales_planted.expected.csv",
		"SELECT correlation_id, encode(reconciliation_key, 'hex'), outcome, amount::text FROM %s.sales_ledger", "recon.",
	}
}

func TestPlantedSales_AllInOneBatch(t *testing.T) {
	p := newPlanted(t, plantedSales(), "--partitions", "1")
	p.produce("planted", p.file.path, "--tier", "compute_heavy")
	p.drain()
	p.assertEachLine(p.file)
}

func TestPlantedSales_EachLineInABatchOfItsOwn(t *testing.T) {
	p := newPlanted(t, plantedSales(), "--partitions", "2")
	p.produce("planted", p.file.path, "--tier", "fast_path")
	p.drain("--batch-records", "1")
	p.assertEachLine(p.file)
}

// A key's order holds within a lane, so that each key stays on one; the two
// settle into one ledger at the same time.
func TestPlantedSales_SpreadOverBothLanes(t *testing.T) {
	p := newPlanted(t, plantedSales())
	halves := p.halve()
	p.produce("fast", halves[0].path, "--tier", "fast_path")
	p.produce("heavy", halves[1].path, "--tier", "compute_heavy")
	p.drain()
	p.assertEachLine(halves[0])
	p.assertEachLine(halves[1])
}

// A plantedFile is a file of lines and, line by line, what is to become of it.
type plantedFile struct {
	run      string
	path     string
	header   []string
	lines    [][]string
	expected []expectedLine
}

// An expectedLine has an amount where there is a posting, and a reason where
// there's none.
type expectedLine struct {
	key     string
	outcome settle.Outcome
	amount  string
	reason  string
}

type planted struct {
	*drill
	stream plantedStream
	file   *plantedFile
}

func newPlanted(t *testing.T, stream plantedStream, setupFlags ...string) *planted {
	t.Helper()
	d := &drill{t: t, env: testInstallation(t), bin: filepath.Join(installPrograms(t), "tieout")}
	require.Zero(t, invoke(t, d.env, append([]string{"setup"}, setupFlags...)...).code)
	file := &plantedFile{run: "planted", path: stream.file}
	rows := readCSV(t, stream.file)
	file.header, file.lines = rows[0], rows[1:]
	for _, row := range readCSV(t, stream.expected)[1:] {
		want := expectedLine{row[0], expectedOutcome(row[1]), row[2], row[3]}
		if want.amount == "-0.00" {
			want.amount = "0.00" // to Postgres there is one zero
		}
		file.expected = append(file.expected, want)
	}
	require.Len(t, file.expected, len(file.lines))
	return &planted{d, stream, file}
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	return rows
}

// halve deals the lines to two files by their keys.
func (p *planted) halve() (halves [2]*plantedFile) {
	p.t.Helper()
	for i, run := range []string{"fast", "heavy"} {
		halves[i] = &plantedFile{run: run, path: filepath.Join(p.t.TempDir(), run+".csv"), header: p.file.header}
	}
	for i, line := range p.file.lines {
		key := p.file.expected[i].key
		if key == "" { // refused before it has one
			key = strconv.Itoa(i % 10)
		}
		half := halves[0]
		if key[0] >= '8' {
			half = halves[1]
		}
		half.lines, half.expected = append(half.lines, line), append(half.expected, p.file.expected[i])
	}
	for _, half := range halves {
		out, err := os.Create(half.path)
		require.NoError(p.t, err)
		require.NoError(p.t, csv.NewWriter(out).WriteAll(append([][]string{half.header}, half.lines...)))
		require.NoError(p.t, out.Close())
	}
	return halves
}

// produce sends a file, some of whose lines are refused.
func (p *planted) produce(run, path string, flags ...string) {
	p.t.Helper()
	rejects := filepath.Join(p.t.TempDir(), "rejects.csv")
	sent := invoke(p.t, p.env, append([]string{"produce", p.stream.name, path, "--run-id", run, "--rejects", rejects}, flags...)...)
	require.Equal(p.t, exitFound, sent.code, sent.stderr)
	p.rejects(run, rejects)
}

// rejected is filled by produce: by run and line, the reason.
func (p *planted) rejects(run, path string) {
	p.t.Helper()
	for _, row := range readCSV(p.t, path)[1:] {
		p.rejected()[run+":"+row[0]] = row[3]
	}
}

func (p *planted) rejected() map[string]string {
	if p.drill.rejected == nil {
		p.drill.rejected = map[string]string{}
	}
	return p.drill.rejected
}

func (p *planted) drain(flags ...string) {
	p.t.Helper()
	done := invoke(p.t, p.env, append([]string{"run", "--drain"}, flags...)...)
	require.Zero(p.t, done.code, done.stderr)
}

// assertEachLine holds the ledger, the topics and the rejects against the
// file. A line is found by its correlation id, which is its run and number.
func (p *planted) assertEachLine(file *plantedFile) {
	p.t.Helper()
	posted := p.rowsByLine(fmt.Sprintf(p.stream.posted, p.schema()))
	dead := p.rowsByLine(`SELECT correlation_id, reason FROM ` + p.schema() + `.dead_letter`)
	published := p.publishedByLine()
	for i, want := range file.expected {
		line := file.run + ":" + strconv.Itoa(i+2) // the header is line 1
		got := expectedLine{key: want.key}
		var topics []string
		switch {
		case posted[line] != nil:
			got = expectedLine{posted[line][0], settle.Outcome(posted[line][1]), posted[line][2], ""}
			topics = []string{p.stream.topics + strings.ReplaceAll(posted[line][1], "_", "")}
		case dead[line] != nil:
			got.outcome, got.reason = settle.DeadLetter, dead[line][0]
			topics = []string{p.stream.topics + "dlq"}
		case p.drill.rejected[line] != "":
			got.outcome, got.reason = rejected, p.drill.rejected[line]
		default:
			got.outcome = settle.DuplicateSkipped
		}
		assert.Equal(p.t, topics, published[line], "topics of line %s", line)
		assert.Equal(p.t, want, got, "line %s: %v", line, file.lines[i])
	}
}

func (p *planted) rowsByLine(sql string) map[string][]string {
	p.t.Helper()
	rows := map[string][]string{}
	for line := range strings.Lines(p.query(sql)) {
		fields := strings.Fields(line)
		require.Nil(p.t, rows[fields[0]], "two rows of line %s", fields[0])
		rows[fields[0]] = fields[1:]
	}
	return rows
}

func (p *planted) publishedByLine() map[string][]string {
	p.t.Helper()
	topics := map[string][]string{}
	brokers := strings.Split(lookupEnv(p.env, "TIEOUT_BROKERS"), ",")
	err := readCommitted(p.t.Context(), []kgo.Opt{kgo.SeedBrokers(brokers...)}, p.outcomeTopics(), func(r *kgo.Record) error {
		for _, h := range r.Headers {
			if h.Key == settle.HeaderCorrelationID {
				topics[string(h.Value)] = append(topics[string(h.Value)], r.Topic)
				return nil
			}
		}
		return fmt.Errorf("an outcome on %s without a correlation id", r.Topic)
	})
	require.NoError(p.t, err)
	return topics
}

func (p *planted) outcomeTopics() []string {
	lanes := lanesOf(p.stream.name)
	require.NotEmpty(p.t, lanes)
	return lanes[0].Topics.All()
}
