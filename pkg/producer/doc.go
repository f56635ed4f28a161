// Package producer is for upstream producers: it builds, checks, keys, routes,
// encodes and sends records. `tieout produce` is its first user.
//
// One claim at a time:
//
//	p, err := producer.NewSales(ctx, producer.Options{RunID: "december", Client: ..., Registry: ...})
//	envelope, failure, err := p.Build(&claim) // failure: why it can't be a record
//	err = p.Send(ctx, envelope)               // in order, not yet acknowledged
//	err = p.Flush(ctx)                        // now it is
//
// Trades go the same way, from a Trade by NewTrades. A whole file of either is a
// Delivery of SalesLines or TradeLines. Its lines are checked one by one; the good ones
// are sent in the order of the file, the others go to a rejects file:
//
//   - a line that can't be told apart into as many fields as the header has:
//     wrong_field_count (LineReader);
//   - one that is longer than a line may be: field_too_long;
//   - one that can't be a record: what SalesBuilder.Build or
//     TradesBuilder.Build says.
//
// A delivery ends with a Manifest on ManifestTopic, which says what was sent to
// each partition and what its quantities add up to.
//
// Records are acknowledged by all in-sync replicas, sent idempotently and
// compressed. Their key is the reconciliation key in 64 hexadecimal characters,
// which Kafka's default partitioner of every language puts on the same
// partition. Their headers are tieout.run_id, tieout.delivery,
// tieout.correlation_id and, where the context has a trace, traceparent.
package producer
