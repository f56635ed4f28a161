package producer

import (
	"encoding/csv"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/settle/settletest"
)

// Whole files, line by line: what is built of a line goes through Avro and the
// stream's Settle into a ledger that is a map, and must come to what somebody
// else computed of it.

// The columns of a file of expectation.
const (
	expectedKey = iota
	expectedOutcome
	expectedAmount
	expectedReason
)

// rejected is the outcome of a line that never becomes a record.
const rejected settle.Outcome = "rejected"

// outcomeOf reads an outcome as the files of either stream call it.
func outcomeOf(t *testing.T, name string) settle.Outcome {
	t.Helper()
	outcome, ok := map[string]settle.Outcome{
		"applied": settle.AutoPost, "auto_post": settle.AutoPost, "dispute": settle.Dispute,
		"skipped": settle.DuplicateSkipped, "duplicate": settle.DuplicateSkipped,
		"dead_letter": settle.DeadLetter, "rejected": rejected,
	}[name]
	require.True(t, ok, name)
	return outcome
}

// A settledFile is what a whole file came to.
type settledFile struct {
	counts map[settle.Outcome]int
	newest map[reconkey.Key]settle.Posting // of each key, the posting of the newest version
}

// total adds up what is newest.
func (f settledFile) total() money.Decimal {
	var total money.Decimal
	for _, posting := range f.newest {
		total = total.Sub(money.Decimal{}.Sub(posting.Amount))
	}
	return total
}

// settleAsExpected settles a file and holds each line against its expectation;
// keyColumn is the ledger's column whose value is expected.
func settleAsExpected(t *testing.T, lines Lines, path, expectedPath, keyColumn string) settledFile {
	t.Helper()
	options := Options{RunID: "run"}
	require.NoError(t, options.prepare(lines))
	builder := lines.builder(&options)
	way := newWay(t, lines.stream(), keyColumn)
	reader, err := opened(t, filepath.Join(testdata, path)).Lines(lines.Columns())
	require.NoError(t, err)
	settled := settledFile{counts: map[settle.Outcome]int{}, newest: map[reconkey.Key]settle.Posting{}}
	for _, expected := range zippedCSV(t, filepath.Join(testdata, expectedPath))[1:] {
		line, err := reader.Read()
		require.NoError(t, err)
		require.Nil(t, line.Failure)
		want := outcomeOf(t, expected[expectedOutcome])
		settled.counts[want]++
		envelope, failure, err := builder.buildLine(line.Values, "C-1")
		require.NoError(t, err)
		if want == rejected {
			require.NotNil(t, failure, "line %d", line.Number)
			require.Equal(t, settle.Reason(expected[expectedReason]), failure.Reason, "line %d", line.Number)
			continue
		}
		require.Nil(t, failure, "line %d", line.Number)
		posting, outcome, reason := way.take(t, envelope)
		require.Equal(t, want, outcome, "line %d", line.Number)
		require.Equal(t, settle.Reason(expected[expectedReason]), reason, "line %d", line.Number)
		require.Equal(t, expected[expectedKey], way.key(posting), "line %d", line.Number)
		if outcome != settle.AutoPost && outcome != settle.Dispute {
			continue
		}
		require.True(t, money.MustParse(expected[expectedAmount]).Equal(posting.Amount), "line %d: %s", line.Number, posting.Amount)
		if newest, ok := settled.newest[posting.Key]; !ok || newest.Version < posting.Version {
			settled.newest[posting.Key] = posting
		}
	}
	_, err = reader.Read()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, settled.counts[settle.AutoPost]+settled.counts[settle.Dispute], way.ledger.Rows())
	return settled
}

func zippedCSV(t *testing.T, path string) [][]string {
	t.Helper()
	text, err := opened(t, path).text()
	require.NoError(t, err)
	rows, err := csv.NewReader(text).ReadAll()
	require.NoError(t, err)
	return rows
}

// A way is that of an envelope from a producer to a ledger.
type way struct {
	stream  settle.Stream
	encoder *codec.Encoder
	decoder settle.Decoder
	ledger  *settletest.Ledger
	keyAt   int // among the ledger's columns
}

func newWay(t *testing.T, stream settle.Stream, keyColumn string) *way {
	t.Helper()
	w := &way{stream: stream, ledger: settletest.NewLedger(stream.Table())}
	schema, target := stream.Envelope()
	var err error
	w.encoder, err = codec.NewEncoder(schema, 1)
	require.NoError(t, err)
	reader, err := codec.NewReader(schema, target, codec.ReaderOptions{})
	require.NoError(t, err)
	w.decoder, err = reader.Decoder(1, schema)
	require.NoError(t, err)
	for stream.Table().Columns[w.keyAt].Name != keyColumn {
		w.keyAt++
	}
	return w
}

// take settles an envelope.
func (w *way) take(t *testing.T, envelope settle.Envelope) (settle.Posting, settle.Outcome, settle.Reason) {
	t.Helper()
	value, err := w.encoder.Append(nil, envelope)
	require.NoError(t, err)
	_, body, err := codec.SplitWire(value)
	require.NoError(t, err)
	key, _ := envelope.Stated()
	posting, failure := w.stream.Settle(&settle.Record{Key: []byte(key), Value: value}, body, w.decoder)
	if failure != nil {
		require.Equal(t, settle.ClassBusiness, failure.Class, failure.Message())
		return posting, settle.DeadLetter, failure.Reason
	}
	outcome, reason := w.ledger.Post(posting)
	return posting, outcome, reason
}

func (w *way) key(posting settle.Posting) string { return settletest.RowOf(posting).Values[w.keyAt] }

func TestSettled_SalesComeToWhatIsExpectedOfEachLine(t *testing.T) {
	t.Parallel()
	planted := settleAsExpected(t, SalesLines{}, "planted/sales_planted.claims.csv", "planted/sales_planted.expected.csv", "reconciliation_key")
	require.Equal(t, 35, planted.counts[rejected])
	require.Equal(t, 128, planted.counts[settle.AutoPost])
	require.Equal(t, 36, planted.counts[settle.Dispute])

	month := settleAsExpected(t, SalesLines{}, "sales/retail_2010_12.claims.csv.gz", "sales/retail_2010_12.expected.csv.gz", "reconciliation_key")
	require.Equal(t, map[settle.Outcome]int{
		settle.AutoPost: 40_290, settle.Dispute: 1_312, settle.DeadLetter: 890, settle.DuplicateSkipped: 452,
	}, month.counts)
	require.Equal(t, "36864.04", month.total().String())
}

func TestSettled_TradesComeToWhatIsExpectedOfEachLine(t *testing.T) {
	t.Parallel()
	planted := settleAsExpected(t, TradeLines{}, "planted/trades_planted.trades.csv", "planted/trades_planted.expected.csv", "idempotency_key")
	require.Equal(t, map[settle.Outcome]int{
		settle.AutoPost: 201, settle.DuplicateSkipped: 71, settle.DeadLetter: 14, rejected: 16,
	}, planted.counts)
	requireStatement(t, "planted/trades_planted.statement.csv", planted)

	june := settleAsExpected(t, TradeLines{}, "trades/nyiso_2019_06.trades.csv.gz", "trades/nyiso_2019_06.expected.csv.gz", "idempotency_key")
	require.Equal(t, map[settle.Outcome]int{
		settle.AutoPost: 12_923, settle.DuplicateSkipped: 153, settle.DeadLetter: 12, rejected: 5,
	}, june.counts)
	require.Equal(t, "9922614.21", june.total().String())
	requireStatement(t, "trades/nyiso_2019_06.statement.csv.gz", june)
}

// requireStatement holds what is newest against what the market operator bills.
func requireStatement(t *testing.T, path string, settled settledFile) {
	t.Helper()
	lines := zippedCSV(t, filepath.Join(testdata, path))[1:]
	require.Len(t, settled.newest, len(lines))
	for _, line := range lines {
		tradeID, nodeID, interval, amount := line[0], line[1], line[2], line[3]
		posting, ok := settled.newest[reconkey.Trade(nodeID, interval, tradeID)]
		require.True(t, ok, line)
		require.True(t, money.MustParse(amount).Equal(posting.Amount), "%s: %s", line, posting.Amount)
	}
}
