// Package schemas is what the world may rely on: the Avro schemas of what
// tieout reads and writes, and the migrations of its ledger, embedded.
package schemas

import "embed"

// SalesEnvelope is the schema of what producers of sales claims enqueue.
//
//go:embed avro/sales_envelope.avsc
var SalesEnvelope string

// Outcome is the schema of what tieout publishes of each posting.
//
//go:embed avro/outcome.avsc
var Outcome string

// Migrations holds the ledger's migrations, as files below migrations/.
//
//go:embed migrations/*.sql
var Migrations embed.FS
