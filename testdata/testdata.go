// Package testdata embeds the month of claims that the demo settles, with the
// expectation that was made of it independently of this code. sales/NOTICE says
// where it comes from.
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
