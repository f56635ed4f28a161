package producer

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
	"github.com/tieout/tieout/streams/trades"
)

func goodTrade() Trade {
	return Trade{
		TradeID: "PT1-0112", Version: "3", NodeID: "N.Y.C.", SettlementInterval: "2019-11-03T01:00:00-04:00",
		MWh: "-10.73", Price: "24.7", Currency: "USD", LastModified: "2019-11-04T00:00:00.000001Z", MarketRun: "RT", MeterID: "M-1",
		CorrelationID: "mine",
	}
}

func TestTrades_BuildMakesTheEnvelopeOfATrade(t *testing.T) {
	t.Parallel()
	builder, err := NewTradesBuilder(Options{
		RunID: "run", Delivery: ulid.MustNew(1, zeros{}).String(), Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }, Entropy: zeros{},
	})
	require.NoError(t, err)
	trade := goodTrade()
	got, failure, err := builder.Build(&trade)
	require.NoError(t, err)
	require.Nil(t, failure)
	require.Empty(t, cmp.Diff(&trades.Envelope{
		MessageID: "01HF7YAT000000000000000000",
		// printf '{"node_id":"N.Y.C.","settlement_interval":"2019-11-03T05:00:00Z","trade_id":"PT1-0112"}' | sha256sum
		ReconciliationKey:  "25f8099bcbf929a06eadbc495d9ef7051d6d35a7d3590b152b565e1ca6deb4df",
		CorrelationID:      "mine",
		TradeID:            "PT1-0112",
		Version:            3,
		NodeID:             "N.Y.C.",
		SettlementInterval: "2019-11-03T05:00:00Z",
		MWh:                []byte{0xfd, 0x80, 0x71, 0x31, 0x80}, // -10.73e9
		Price:              []byte{0x05, 0xc0, 0x3c, 0x17, 0x00}, // 24.7e9
		Currency:           "USD",
		LastModified:       new(int64(1_572_825_600_000_001)),
		MarketRun:          new("RT"),
		MeterID:            new("M-1"),
	}, got))

	trade.CorrelationID, trade.LastModified, trade.MarketRun, trade.MeterID = "", "", "", ""
	got, failure, err = builder.Build(&trade)
	require.NoError(t, err)
	require.Nil(t, failure)
	require.Equal(t, got.MessageID, got.CorrelationID, "a trade can always be followed")
	require.Nil(t, got.LastModified)
	require.Nil(t, got.MarketRun)
	require.Nil(t, got.MeterID)
}

func TestTrades_LastModifiedIsTheVersionOfASourceWithout(t *testing.T) {
	t.Parallel()
	for lastModified, want := range map[string]int64{
		"1970-01-01T00:00:00Z":             0,
		"2020-02-29T23:59:59.999999Z":      1_583_020_799_999_999,
		"2020-03-01T01:59:59.999999+02:00": 1_583_020_799_999_999,
	} {
		trade := goodTrade()
		trade.Version, trade.LastModified = "", lastModified
		envelope, failure, err := testTradesBuilder(t).Build(&trade)
		require.NoError(t, err)
		require.Nil(t, failure)
		require.Equal(t, want, envelope.Version)
		require.Equal(t, want, *envelope.LastModified)
	}
}

func testTradesBuilder(t *testing.T) *TradesBuilder {
	t.Helper()
	builder, err := NewTradesBuilder(Options{RunID: "run"})
	require.NoError(t, err)
	return builder
}

func TestTrades_BuildRefusesWhatIsNoTrade(t *testing.T) {
	t.Parallel()
	requireRefused(t, goodTrade, testTradesBuilder(t).Build, map[string]refusal[Trade]{
		"version below 0":           {func(c *Trade) { c.Version = "-1" }, "invalid_version version"},
		"version with a fraction":   {func(c *Trade) { c.Version = "1.0" }, "invalid_version version"},
		"version beyond a long":     {func(c *Trade) { c.Version = "9223372036854775808" }, "invalid_version version"},
		"version a space":           {func(c *Trade) { c.Version = " " }, "invalid_version version"},
		"no version, no date":       {func(c *Trade) { c.Version, c.LastModified = "", "" }, "missing_version version"},
		"version before 1970":       {func(c *Trade) { c.Version, c.LastModified = "", "1969-12-31T23:59:59.999999Z" }, "invalid_version last_modified"},
		"last modified":             {func(c *Trade) { c.LastModified = "yesterday" }, "invalid_date last_modified"},
		"last modified too fine":    {func(c *Trade) { c.LastModified = "2019-11-04T00:00:00.0000001Z" }, "invalid_date last_modified"},
		"volume missing":            {func(c *Trade) { c.MWh = "" }, "missing_field mwh"},
		"volume with an exponent":   {func(c *Trade) { c.MWh = "1e2" }, "not_a_decimal mwh"},
		"price that is none":        {func(c *Trade) { c.Price = "NaN" }, "not_a_decimal price"},
		"price too fine":            {func(c *Trade) { c.Price = "15.959999999999999" }, "too_many_fraction_digits price"},
		"price too large":           {func(c *Trade) { c.Price = strings.Repeat("9", 30) }, "out_of_range price"},
		"interval missing":          {func(c *Trade) { c.SettlementInterval = "" }, "missing_field settlement_interval"},
		"interval without zone":     {func(c *Trade) { c.SettlementInterval = "2019-06-19T04:00:00" }, "invalid_interval settlement_interval"},
		"interval with a fraction":  {func(c *Trade) { c.SettlementInterval = "2019-06-19T04:00:00.5Z" }, "invalid_interval settlement_interval"},
		"interval in year 0":        {func(c *Trade) { c.SettlementInterval = "0001-01-01T00:00:00+01:00" }, "invalid_interval settlement_interval"},
		"interval in year 10000":    {func(c *Trade) { c.SettlementInterval = "9999-12-31T23:00:00-01:00" }, "invalid_interval settlement_interval"},
		"trade missing":             {func(c *Trade) { c.TradeID = "" }, "missing_field trade_id"},
		"node missing":              {func(c *Trade) { c.NodeID = "" }, "missing_field node_id"},
		"currency missing":          {func(c *Trade) { c.Currency = "" }, "missing_field currency"},
		"trade too long":            {func(c *Trade) { c.TradeID = strings.Repeat("T", 257) }, "field_too_long trade_id"},
		"node not UTF-8":            {func(c *Trade) { c.NodeID = "\xe9" }, "invalid_text node_id"},
		"meter with NUL":            {func(c *Trade) { c.MeterID = "a\x00b" }, "invalid_text meter_id"},
		"numbers before texts":      {func(c *Trade) { c.TradeID, c.Price = "", "x" }, "not_a_decimal price"},
		"version before the volume": {func(c *Trade) { c.MWh, c.Version = "", "x" }, "invalid_version version"},
	})
}

// What is content, and not form, becomes a record: the worker judges it.
func TestTrades_BuildLeavesContentToTheWorker(t *testing.T) {
	t.Parallel()
	requireBuilt(t, goodTrade, testTradesBuilder(t).Build, map[string]func(*Trade){
		"currency":   func(c *Trade) { c.Currency = "usd" },
		"product":    func(c *Trade) { c.MWh, c.Price = "-99999999999999999", "1000" },
		"no volume":  func(c *Trade) { c.MWh = "0" },
		"five past":  func(c *Trade) { c.SettlementInterval = "2019-06-19T04:05:00Z" },
		"first ever": func(c *Trade) { c.Version = "0" },
	})
}

func TestTrades_HaveNeitherTiersNorVendors(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{{RunID: "run", Tier: FastPath}, {RunID: "run", Vendors: Vendors{}}} {
		_, err := NewTradesBuilder(options)
		require.EqualError(t, err, "trades have neither tiers nor vendors")
		_, err = NewTrades(t.Context(), options)
		require.EqualError(t, err, "trades have neither tiers nor vendors")
	}
}

// A readTrade is a record as another library reads it.
type readTrade struct {
	MessageID          string     `avro:"message_id"`
	ReconciliationKey  string     `avro:"reconciliation_key"`
	CorrelationID      string     `avro:"correlation_id"`
	TradeID            string     `avro:"trade_id"`
	Version            int64      `avro:"version"`
	NodeID             string     `avro:"node_id"`
	SettlementInterval string     `avro:"settlement_interval"`
	MWh                any        `avro:"mwh"`
	Price              any        `avro:"price"`
	Currency           string     `avro:"currency"`
	LastModified       *time.Time `avro:"last_modified"`
	MarketRun          *string    `avro:"market_run"`
	MeterID            *string    `avro:"meter_id"`
}

func TestDelivery_TradesAreSentInOrderOrRefused(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "planted", "trades_planted.trades.csv")
	report, err := Delivery{Lines: TradeLines{}, Path: path, Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "etrm.trades", report.Topic)
	require.Regexp(t, `^trades-[0-9a-f]{16}$`, report.RunID)
	require.EqualValues(t, 302, report.Lines)
	require.EqualValues(t, 286, report.Sent)
	require.Equal(t, map[settle.Reason]int64{
		"missing_field": 4, "invalid_interval": 4, "invalid_version": 3, "not_a_decimal": 2,
		"field_too_long": 1, "missing_version": 1, "too_many_fraction_digits": 1,
	}, report.Reasons)
	require.Len(t, readCSV(t, report.RejectsFile), 1+16)

	schema, err := avro.Parse(schemas.TradeRecord)
	require.NoError(t, err)
	lines := readCSV(t, path)
	lastLine := make(map[int32]int)
	for _, record := range installation.records(t, 286) {
		var trade readTrade
		rest, err := schema.Decode(record.Value[5:], &trade)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, "etrm.trades", record.Topic)
		require.Equal(t, trade.ReconciliationKey, string(record.Key))
		number := lineNumber(t, report, trade.CorrelationID)
		require.Greater(t, number, lastLine[record.Partition], "order is kept")
		lastLine[record.Partition] = number

		line := lines[number-1]
		require.Equal(t, []string{line[0], line[3]}, []string{trade.TradeID, trade.NodeID})
		require.True(t, money.MustParse(line[5]).Equal(money.MustParse(decimalText(t, trade.MWh))), "line %d", number)
		require.True(t, money.MustParse(line[6]).Equal(money.MustParse(decimalText(t, trade.Price))), "line %d", number)
		if line[1] == "" {
			require.Equal(t, trade.LastModified.UnixMicro(), trade.Version)
		}
		require.Nil(t, trade.MarketRun)
		require.Nil(t, trade.MeterID)
	}
}

func BenchmarkTrades(b *testing.B) {
	path := filepath.Join(testdata, "trades", "nyiso_2019_06.trades.csv.gz")
	benchmarkDelivery(b, Delivery{Lines: TradeLines{}, Path: path, RejectsPath: filepath.Join(b.TempDir(), "rejects.csv"), DryRun: true})
}
