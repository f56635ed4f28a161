// Package schemas is what the world may rely on: the Avro schemas of what
// tieout reads and writes, and the migrations of its ledger, embedded.
package schemas

import "embed"

// SalesEnvelope is the schema of what producers of sales claims enqueue.
//
//go:embed avro/sales_envelope.avsc
var SalesEnvelope string

// TradeRecord is the schema of what producers of energy trades enqueue.
//
//go:embed avro/trade_record.avsc
var TradeRecord string

// Finding is the schema of what a reconciliation enqueues of each difference.
//
//go:embed avro/finding.avsc
var Finding string

// Outcome is the schema of what tieout publishes of each posting.
//
//go:embed avro/outcome.avsc
var Outcome string

// Manifest is the schema of what a delivery says when it ends.
//
//go:embed avro/manifest.avsc
var Manifest string

// Migrations holds the ledger's migrations, as files below migrations/.
//
//go:embed migrations/*.sql
var Migrations embed.FS
