package producer

import (
	"context"
	"errors"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// An enqueuer puts one stream's envelopes onto a topic. It's for one goroutine
// at a time.
type enqueuer struct {
	*sender
	encoder *codec.Encoder
	sum     money.Sum // of the quantities of what was enqueued
}

// newEnqueuer makes one whose topic is there and whose schema is registered. The
// error is a *BrokerError, a *TopicMissingError, a *SchemaMissingError, or one of
// pkg/codec.
func newEnqueuer(ctx context.Context, o *Options, stream settle.Stream) (*enqueuer, error) {
	if o.Registry == nil {
		return nil, errors.New("there is no schema registry to encode by")
	}
	topic, err := o.topic(stream.Name())
	if err != nil {
		return nil, err
	}
	sender, err := newSender(o, topic)
	if err != nil {
		return nil, err
	}
	e := &enqueuer{sender: sender}
	if err := sender.connect(ctx); err != nil {
		sender.Close()
		return nil, err
	}
	if e.encoder, err = newEncoder(ctx, o, stream); err != nil {
		sender.Close()
		return nil, err
	}
	return e, nil
}

// newEncoder finds a stream's schema in the registry, where setup registers it.
func newEncoder(ctx context.Context, o *Options, stream settle.Stream) (*codec.Encoder, error) {
	subject, err := o.subject(stream.Name())
	if err != nil {
		return nil, err
	}
	schema, _ := stream.Envelope()
	id, err := o.Registry.Lookup(ctx, subject, schema)
	if errors.Is(err, codec.ErrNotRegistered) {
		return nil, &SchemaMissingError{Subject: subject}
	}
	if err != nil {
		return nil, err
	}
	return codec.NewEncoder(schema, id)
}

// enqueue sends an envelope under the key that it states. It returns before the
// broker has acknowledged it, and waits only where much is under way. The error
// is that of this envelope or of any before it; there is no going on behind one.
func (e *enqueuer) enqueue(ctx context.Context, envelope settle.Envelope) error {
	value, err := e.encoder.Append(make([]byte, 0, usualValueBytes), envelope)
	if err != nil {
		return err
	}
	if err := e.measure(envelope); err != nil {
		return err
	}
	key, correlationID := envelope.Stated()
	return e.send(ctx, []byte(key), value, correlationID)
}

// usualValueBytes holds most envelopes.
const usualValueBytes = 384

// Flush waits until everything sent is acknowledged, or says why it isn't.
func (e *enqueuer) Flush(ctx context.Context) error { return e.flush(ctx) }
