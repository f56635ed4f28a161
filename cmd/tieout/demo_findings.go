package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
)

// A finding is what the ledger holds, or an outcome topic says, of one line.
type finding struct {
	lineVerdict
	place         string
	correlationID string
	delivery      string

	currency   string
	claimed    money.NullDecimal
	difference money.NullDecimal
	failure    settle.Failure
}

// findInLedger reads every posting and every dead letter.
func findInLedger(ctx context.Context, l *ledger.Ledger) ([]finding, error) {
	rows, err := l.ProgressRows(ctx)
	if err != nil {
		return nil, err
	}
	var findings []finding
	for _, row := range rows {
		recorded, err := l.RecordedRange(ctx, row.Source, 0, row.NextOffset)
		if err != nil {
			return nil, err
		}
		for i := range recorded {
			findings = append(findings, findingOf(row, &recorded[i]))
		}
	}
	return findings, nil
}

func findingOf(row ledger.ProgressRow, r *ledger.Recorded) finding {
	at := fmt.Sprintf("%s[%d]@%d", row.Topic, row.Partition, r.Offset)
	if d := r.DeadLetter; d != nil {
		return finding{
			lineVerdict: lineVerdict{key: string(d.Key), outcome: settle.DeadLetter, reason: d.Failure.Reason},
			place:       "dead_letter of " + at, correlationID: d.CorrelationID, delivery: d.Delivery.Delivery, failure: d.Failure,
		}
	}
	p := &r.Posting
	return finding{
		lineVerdict: lineVerdict{
			key: p.Key.Hex(), version: p.Version, outcome: p.Outcome, amount: money.NullDecimal{Decimal: p.Amount, Valid: true},
		},
		place: "ledger row of " + at, correlationID: p.CorrelationID, delivery: r.Delivery.Delivery,
		currency: p.Currency, claimed: p.Claimed, difference: p.Difference,
	}
}

// publishedOutcome is io.tieout.outcome.Outcome, as a reader decodes it.
type publishedOutcome struct {
	ReconciliationKey string `avro:"reconciliation_key"`
	Version           int64  `avro:"version"`
	Revision          int32  `avro:"revision"`
	RunKind           string `avro:"run_kind"`
	Outcome           string `avro:"outcome"`
	Amount            []byte `avro:"amount"`
	Claimed           []byte `avro:"claimed"`
	Difference        []byte `avro:"difference"`
	Currency          string `avro:"currency"`
	PrevVersion       *int64 `avro:"prev_version"`
	PrevAmount        []byte `avro:"prev_amount"`
}

// An outcomeReader makes findings of outcome records, as any other reader of
// the topics would.
type outcomeReader struct {
	topics   map[string]settle.Outcome // what belongs on each
	decoders *codec.Decoders
}

func newOutcomeReader(cfg *config, registry *codec.Registry, topics settle.OutcomeTopics) (*outcomeReader, error) {
	reader, err := codec.NewReader(schemas.Outcome, publishedOutcome{}, codec.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	o := &outcomeReader{topics: map[string]settle.Outcome{}, decoders: codec.NewDecoders(registry, reader)}
	for outcome, topic := range map[settle.Outcome]string{
		settle.AutoPost: topics.AutoPost, settle.Dispute: topics.Dispute, settle.DeadLetter: topics.DeadLetter,
	} {
		if topic != "" { // a stream may dispute nothing
			o.topics[cfg.topic(topic)] = outcome
		}
	}
	return o, nil
}

// find reads every outcome that is committed.
func (o *outcomeReader) find(ctx context.Context, options []kgo.Opt) ([]finding, error) {
	var topics []string
	for topic := range o.topics {
		topics = append(topics, topic)
	}
	var findings []finding
	err := readCommitted(ctx, options, topics, func(r *kgo.Record) error {
		f, err := o.finding(ctx, r)
		findings = append(findings, f)
		return err
	})
	return findings, err
}

func (o *outcomeReader) finding(ctx context.Context, r *kgo.Record) (finding, error) {
	f := finding{place: fmt.Sprintf("record %s[%d]@%d", r.Topic, r.Partition, r.Offset)}
	f.key, f.outcome = string(r.Key), o.topics[r.Topic]
	for _, h := range r.Headers {
		switch h.Key {
		case settle.HeaderCorrelationID:
			f.correlationID = string(h.Value)
		case settle.HeaderDelivery:
			f.delivery = string(h.Value)
		case settle.HeaderErrorReason:
			f.reason = settle.Reason(h.Value)
		}
	}
	if f.outcome == settle.DeadLetter {
		return f, nil // its value is what arrived
	}
	value, err := o.decode(ctx, r.Value)
	if err != nil {
		return f, fmt.Errorf("%s: %w", f.place, err)
	}
	if value.ReconciliationKey != f.key || settle.Outcome(value.Outcome) != f.outcome {
		return f, fmt.Errorf("%s: the outcome %s of key %s has the key %s", f.place, value.Outcome, value.ReconciliationKey, f.key)
	}
	f.version, f.currency = value.Version, value.Currency
	for _, field := range []struct {
		from  []byte
		scale int32
		into  *money.NullDecimal
	}{{value.Amount, 2, &f.amount}, {value.Claimed, 9, &f.claimed}, {value.Difference, 9, &f.difference}} {
		if field.from == nil {
			continue
		}
		field.into.Valid = true
		if field.into.Decimal, err = money.FromUnscaled(field.from, field.scale); err != nil {
			return f, fmt.Errorf("%s: %w", f.place, err)
		}
	}
	return f, nil
}

func (o *outcomeReader) decode(ctx context.Context, value []byte) (outcome publishedOutcome, err error) {
	id, body, err := codec.SplitWire(value)
	if err != nil {
		return outcome, err
	}
	decoder, err := o.decoders.Resolve(ctx, id)
	if err != nil {
		return outcome, err
	}
	return outcome, decoder.Decode(body, &outcome)
}
