package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/testdata"
)

// A demoFile is a file that the demo settles, and all that the demo has to know
// of its stream.
type demoFile struct {
	stream string // whose lanes settle it
	what   string // it is, in words

	name     string
	text     []byte // gzipped
	expected []byte // of each of its lines, gzipped
	figures  func() (demoFigures, error)

	lines producer.Lines
	flags produceFlags

	// columns are those that are read of each line. The first ones are shown of
	// it, under their titles; identify finds in all of them what a posting of the
	// line must be known by.
	columns  []string
	titles   []string
	identify func(values []string, want *lineVerdict) error

	statement *demoStatement // what is to be paid for it; nil where nobody says
}

func claimsOfTheDemo() demoFile {
	return demoFile{
		stream: "sales", what: "A month of vendor claims",
		name: testdata.SalesFile, text: testdata.Sales, expected: testdata.SalesExpected, figures: claimFigures,
		lines: producer.SalesLines{}, flags: produceFlags{tier: string(producer.ComputeHeavy)},
		columns: []string{"vendor_id", "retailer_invoice", "agreement_version"},
		titles:  []string{"VENDOR", "INVOICE"}, identify: identifyClaim,
	}
}

func tradesOfTheDemo() demoFile {
	return demoFile{
		stream: "trades", what: "A month of energy trades",
		name: testdata.TradesFile, text: testdata.Trades, expected: testdata.TradesExpected, figures: tradeFigures,
		lines:   producer.TradeLines{},
		columns: []string{"trade_id", "version", "node_id", "settlement_interval"},
		titles:  []string{"TRADE", "VERSION"}, identify: identifyTrade,
		statement: &demoStatement{
			name: testdata.StatementFile, text: testdata.Statement,
			// 88.3 MWh at 17.55 are 1549.665: rounded half even 1549.66, and half up a
			// cent more.
			altered: "T-CAPITL-2019061212",
		},
	}
}

// demoFigures are the figures of a settled file.
type demoFigures struct {
	Lines        int64  `json:"lines"`
	Rejected     int64  `json:"rejected"` // before they were sent
	AutoPosts    int64  `json:"auto_post"`
	Disputes     int64  `json:"dispute"`
	DeadLetters  int64  `json:"dead_letter"`
	Duplicates   int64  `json:"duplicate"`
	LedgerRows   int64  `json:"ledger_rows"`
	CurrentTotal string `json:"current_total"` // of the newest version of each thing
}

// claimFigures reads what the authors of the file of claims say of the whole.
func claimFigures() (demoFigures, error) {
	var summary struct {
		demoFigures
		LedgerTotal string `json:"ledger_total"`
	}
	err := json.Unmarshal(testdata.SalesSummary, &summary)
	summary.CurrentTotal = summary.LedgerTotal // it has one version of each claim
	return summary.demoFigures, err
}

// tradeFigures does the same for the trades, whose authors have some words of
// their own.
func tradeFigures() (demoFigures, error) {
	var summary struct {
		demoFigures
		Records int64 `json:"records"`
		Applied int64 `json:"applied"`
		Skipped int64 `json:"skipped"`
	}
	err := json.Unmarshal(testdata.TradesSummary, &summary)
	summary.Lines, summary.AutoPosts, summary.Duplicates = summary.Records, summary.Applied, summary.Skipped
	return summary.demoFigures, err
}

// identifyClaim adds the version to the key that is expected.
func identifyClaim(values []string, want *lineVerdict) (err error) {
	want.version, err = strconv.ParseInt(values[2], 10, 64)
	return err
}

// identifyTrade puts the key that all versions have in common in the place of
// the one that is expected of this version, once that shows that both are of
// the same trade.
func identifyTrade(values []string, want *lineVerdict) (err error) {
	if want.version, err = strconv.ParseInt(values[1], 10, 64); err != nil {
		return err
	}
	trade, node, interval := values[0], values[2], values[3]
	if key := reconkey.TradeVersion(node, interval, trade, want.version).Hex(); key != want.key {
		return fmt.Errorf("its idempotency key is %s, %s is expected", key, want.key)
	}
	want.key = reconkey.Trade(node, interval, trade).Hex()
	return nil
}
