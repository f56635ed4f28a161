// Package testdata embeds what the demo settles, a month of claims and one of
// energy trades, with the expectations that were made of them independently of
// this code. sales/NOTICE and trades/NOTICE say where they come from.
package testdata

import _ "embed" // for what is below

// SalesFile is the name of the file of December 2010.
const SalesFile = "retail_2010_12.claims.csv.gz"

// Sales is a file of 42,944 claim lines, gzipped.
//
//go:embed sales/retail_2010_12.claims.csv.gz
var Sales []byte

// SalesExpected has a line for each of Sales, in the same order: the
// reconciliation key, what must become of it, the amount and the reason.
//
//go:embed sales/retail_2010_12.expected.csv.gz
var SalesExpected []byte

// SalesSummary has the figures of the whole, as JSON.
//
//go:embed sales/retail_2010_12.summary.json
var SalesSummary []byte

// TradesFile is the name of the file of June 2019, and StatementFile that of
// what the market operator bills for it.
const (
	TradesFile    = "nyiso_2019_06.trades.csv.gz"
	StatementFile = "nyiso_2019_06.statement.csv.gz"
)

// Trades is a file of 13,093 trade versions, gzipped.
//
//go:embed trades/nyiso_2019_06.trades.csv.gz
var Trades []byte

// TradesExpected has a line for each of Trades, in the same order: the
// idempotency key, what must become of it, the amount and the reason.
//
//go:embed trades/nyiso_2019_06.expected.csv.gz
var TradesExpected []byte

// TradesSummary has the figures of the whole, as JSON.
//
//go:embed trades/nyiso_2019_06.summary.json
var TradesSummary []byte

// Statement has a line for each trade and interval of Trades, gzipped: the
// amount of its newest version.
//
//go:embed trades/nyiso_2019_06.statement.csv.gz
var Statement []byte
