package settle

import (
	"strings"
	"unicode/utf8"
)

// Headers that tieout reads on what it consumes and writes on what it
// publishes.
const (
	HeaderRunID         = "tieout.run_id"
	HeaderDelivery      = "tieout.delivery"
	HeaderCorrelationID = "tieout.correlation_id"
	HeaderSource        = "tieout.source"
	HeaderRunKind       = "tieout.run_kind"
	HeaderOrigin        = "tieout.origin"
	HeaderRelease       = "tieout.release"
	HeaderTraceparent   = "traceparent"
)

// Headers of KIP-1191, written on dead letters.
const (
	HeaderErrorTopic     = "__dlq.errors.topic"
	HeaderErrorPartition = "__dlq.errors.partition"
	HeaderErrorOffset    = "__dlq.errors.offset"
	HeaderErrorGroup     = "__dlq.errors.group"
	HeaderErrorMessage   = "__dlq.errors.message"
	// The next three are tieout's own, in the KIP's manner.
	HeaderErrorClass  = "__dlq.errors.class"
	HeaderErrorReason = "__dlq.errors.reason"
	HeaderErrorField  = "__dlq.errors.field"
)

// LiveRun is the run of a record whose producer named none.
const LiveRun = "live"

// A Delivery says which logical run a record belongs to, and which sending of
// it this is. Counters are kept for each.
type Delivery struct {
	RunID    string
	Delivery string // a ULID; empty where the producer gave none
}

// DeliveryOf reads a record's run and delivery. A header that no counter could
// hold is the record's own failure, and is counted under the live run.
func DeliveryOf(r *Record) (Delivery, *Failure) {
	d := Delivery{RunID: LiveRun}
	for _, field := range []struct {
		header string
		into   *string
	}{{HeaderRunID, &d.RunID}, {HeaderDelivery, &d.Delivery}} {
		value, ok := r.Header(field.header)
		if !ok || len(value) == 0 {
			continue
		}
		if failure := CheckText(field.header, string(value)); failure != nil {
			return Delivery{RunID: LiveRun}, failure
		}
		*field.into = string(value)
	}
	return d, nil
}

// MaxTextBytes bounds each text of a record: what a ledger column, an index
// entry and a line on a screen can bear.
const MaxTextBytes = 256

// CheckText tells why text can't be kept as text, or nil: it must be UTF-8
// without NUL (Postgres takes neither) and at most MaxTextBytes long.
func CheckText(field, text string) *Failure {
	switch {
	case !utf8.ValidString(text), strings.IndexByte(text, 0) >= 0:
		return Structural(ReasonInvalidText, field, text)
	case len(text) > MaxTextBytes:
		return Structural(ReasonFieldTooLong, field, text)
	}
	return nil
}
