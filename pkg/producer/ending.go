package producer

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
)

// The end of a delivery: its manifest, once everything is acknowledged. Whoever
// counts what arrived knows by it that nothing more comes.

// A manifestWriter puts manifests onto their topic.
type manifestWriter struct {
	*sender // of the delivery
	topic   string
	encoder *codec.Encoder
}

// newManifestWriter makes one whose topic is there and whose schema is
// registered: a delivery that couldn't be ended isn't begun. Its errors are those
// of newEnqueuer.
func newManifestWriter(ctx context.Context, o *Options, s *sender) (*manifestWriter, error) {
	w := &manifestWriter{sender: s, topic: o.TopicPrefix + ManifestTopic}
	if _, err := s.find(ctx, w.topic); err != nil {
		return nil, err
	}
	subject := w.topic + "-value"
	id, err := o.Registry.Lookup(ctx, subject, schemas.Manifest)
	if errors.Is(err, codec.ErrNotRegistered) {
		return nil, &SchemaMissingError{Subject: subject}
	}
	if err != nil {
		return nil, err
	}
	w.encoder, err = codec.NewEncoder(schemas.Manifest, id)
	return w, err
}

// write sends a manifest, and waits until all in-sync replicas have it.
func (w *manifestWriter) write(ctx context.Context, m *Manifest) error {
	record, err := m.record()
	if err != nil {
		return err
	}
	value, err := w.encoder.Append(nil, record)
	if err != nil {
		return err
	}
	sent := w.client.ProduceSync(ctx, &kgo.Record{Topic: w.topic, Key: []byte(m.RunID), Value: value, Headers: w.headers})
	if err := sent.FirstErr(); err != nil {
		return w.explained(w.topic, err)
	}
	return nil
}

// conclude ends a delivery with its manifest. The report has everything that
// was counted, failure is why the delivery isn't complete. One that isn't says
// so if it can; if it can't, nothing is said, which nobody takes for complete.
func (d Delivery) conclude(ctx context.Context, producer *enqueuer, manifests *manifestWriter, content string, report *Report, failure error) error {
	receipt, stream := producer.Receipt(), d.Lines.stream()
	m := &Manifest{
		Delivery: settle.Delivery{RunID: report.RunID, Delivery: report.Delivery},
		State:    ManifestComplete, Stream: stream.Name(), Topic: report.Topic, TopicID: producer.topicID, Content: content,
		Sent: receipt.Acknowledged, Partitions: receipt.Partitions, Rejected: report.Rejected,
		Quantity: stream.Table().Quantity, ControlSum: producer.sum, First: receipt.First, Last: receipt.Last,
	}
	if failure == nil {
		if err := manifests.write(ctx, m); err != nil {
			return fmt.Errorf("the manifest: %w", err)
		}
		return nil
	}
	m.State, m.Quantity = ManifestAborted, ""
	limited, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	_ = manifests.write(limited, m) // the delivery's own failure is what counts
	return failure
}

// measure adds an envelope's quantity to the control sum.
func (e *enqueuer) measure(envelope settle.Envelope) error {
	unscaled := envelope.Quantity()
	if unscaled == nil {
		return nil
	}
	quantity, err := money.FromUnscaled(unscaled, settle.DecimalScale)
	if err != nil {
		return fmt.Errorf("control sum: %w", err)
	}
	e.sum.Add(quantity)
	return nil
}
