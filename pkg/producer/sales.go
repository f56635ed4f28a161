package producer

import (
	"context"
	"errors"
	"fmt"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
	"github.com/tieout/tieout/streams/sales"
)

// A SalesBuilder makes envelopes of claims, and contacts nothing.
type SalesBuilder struct {
	tier    Tier
	vendors Vendors
	ids     *ids
}

// NewSalesBuilder makes a builder by the options' tier, vendors and source of
// ids.
func NewSalesBuilder(o Options) (*SalesBuilder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newSalesBuilder(&o), nil
}

func newSalesBuilder(o *Options) *SalesBuilder {
	return &SalesBuilder{tier: o.Tier, vendors: o.Vendors, ids: newIDs(o.Now, o.Entropy)}
}

// Build makes the envelope of one claim, or says why it can't be one. The
// checks are those of form, in this order:
//
//  1. numbers and the date: agreement_version, qualifying_units, tier_rate,
//     claimed_amount, transaction_date; each must be there (but for the claimed
//     amount) and be what it should;
//  2. those that the worker makes as well (sales.Envelope.CheckForm): texts are
//     UTF-8 without NUL, not too long and not empty, then claim period and
//     separators in the key's parts;
//  3. the vendor is one that may claim.
//
// Content (tier, signs, currency, range of the product) is the worker's to
// judge: such a claim becomes a record and then a dead letter, which is where
// whoever is responsible will look for it.
//
// The error is one of the source of entropy, not of the claim.
func (b *SalesBuilder) Build(claim *SalesClaim) (*sales.Envelope, *settle.Failure, error) {
	id, err := b.ids.next()
	if err != nil {
		return nil, nil, fmt.Errorf("make a message id: %w", err)
	}
	e := &sales.Envelope{MessageID: id, QueueTier: string(b.tier)}
	if failure := claim.fill(e); failure != nil {
		return nil, failure, nil
	}
	if e.CorrelationID == "" {
		e.CorrelationID = id
	}
	key, failure := e.CheckForm()
	if failure != nil {
		return nil, failure, nil
	}
	if _, ok := b.vendors[e.VendorID]; !ok && b.vendors != nil {
		return nil, settle.Structural(settle.ReasonUnmappedVendor, vendorColumn, e.VendorID), nil
	}
	e.ReconciliationKey = key.Hex()
	return e, nil, nil
}

// Sales puts claims onto the topic of its tier. Build makes an envelope of a
// claim, Send enqueues it, Flush waits until all are acknowledged; order is
// kept. It's for one goroutine at a time.
type Sales struct {
	*SalesBuilder
	*sender
	encoder *codec.Encoder
}

// salesStream is the stream's name.
const salesStream = "sales"

// NewSales makes a producer whose topic is there and whose schema is
// registered. The error is a *BrokerError, a *TopicMissingError, a
// *SchemaMissingError, or one of pkg/codec.
func NewSales(ctx context.Context, o Options) (*Sales, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Registry == nil {
		return nil, errors.New("there is no schema registry to encode by")
	}
	topic, err := o.topic(salesStream)
	if err != nil {
		return nil, err
	}
	sender, err := newSender(&o, topic)
	if err != nil {
		return nil, err
	}
	s := &Sales{SalesBuilder: newSalesBuilder(&o), sender: sender}
	if err := sender.connect(ctx); err != nil {
		sender.Close()
		return nil, err
	}
	if s.encoder, err = salesEncoder(ctx, &o); err != nil {
		sender.Close()
		return nil, err
	}
	return s, nil
}

// salesEncoder finds the schema in the registry, where setup registers it.
func salesEncoder(ctx context.Context, o *Options) (*codec.Encoder, error) {
	subject, err := o.subject(salesStream)
	if err != nil {
		return nil, err
	}
	id, err := o.Registry.Lookup(ctx, subject, schemas.SalesEnvelope)
	if errors.Is(err, codec.ErrNotRegistered) {
		return nil, &SchemaMissingError{Subject: subject}
	}
	if err != nil {
		return nil, err
	}
	return codec.NewEncoder(schemas.SalesEnvelope, id)
}

// Send enqueues an envelope that Build made. It returns before the broker has
// acknowledged it, and waits only where much is under way. The error is that of
// this envelope or of any before it; there is no going on behind one.
func (s *Sales) Send(ctx context.Context, e *sales.Envelope) error {
	value, err := s.encoder.Append(make([]byte, 0, usualValueBytes), e)
	if err != nil {
		return err
	}
	return s.send(ctx, []byte(e.ReconciliationKey), value, e.CorrelationID)
}

// usualValueBytes holds most envelopes.
const usualValueBytes = 384

// Flush waits until everything sent is acknowledged, or says why it isn't.
func (s *Sales) Flush(ctx context.Context) error { return s.flush(ctx) }
