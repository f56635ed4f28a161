package producer

import (
	"context"

	"github.com/tieout/tieout/pkg/settle"
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
	if err := o.prepare(SalesLines{}); err != nil {
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
		return nil, nil, err
	}
	e := &sales.Envelope{MessageID: id, QueueTier: string(b.tier)}
	if failure := claim.fill(e); failure != nil {
		return nil, failure, nil
	}
	if failure := complete(e, &e.CorrelationID, &e.ReconciliationKey, id); failure != nil {
		return nil, failure, nil
	}
	if _, ok := b.vendors[e.VendorID]; !ok && b.vendors != nil {
		return nil, settle.Structural(settle.ReasonUnmappedVendor, vendorColumn, e.VendorID), nil
	}
	return e, nil, nil
}

// Sales puts claims onto the topic of its tier. Build makes an envelope of a
// claim, Send enqueues it, Flush waits until all are acknowledged; order is
// kept. It's for one goroutine at a time.
type Sales struct {
	*SalesBuilder
	*enqueuer
}

// NewSales makes a producer whose topic is there and whose schema is
// registered. The error is a *BrokerError, a *TopicMissingError, a
// *SchemaMissingError, or one of pkg/codec.
func NewSales(ctx context.Context, o Options) (*Sales, error) {
	if err := o.prepare(SalesLines{}); err != nil {
		return nil, err
	}
	enqueuer, err := newEnqueuer(ctx, &o, sales.New())
	if err != nil {
		return nil, err
	}
	return &Sales{SalesBuilder: newSalesBuilder(&o), enqueuer: enqueuer}, nil
}

// Send enqueues an envelope that Build made. It returns before the broker has
// acknowledged it, and waits only where much is under way. The error is that of
// this envelope or of any before it; there is no going on behind one.
func (s *Sales) Send(ctx context.Context, e *sales.Envelope) error { return s.enqueue(ctx, e) }

// SalesLines are lines of vendor claims.
type SalesLines struct{}

// Columns are those of a SalesClaim.
func (SalesLines) Columns() Columns {
	return Columns{Required: salesColumns(), Reserved: append(reservedColumns(), "queue_tier")}
}

func (SalesLines) stream() settle.Stream { return sales.New() }

func (SalesLines) prepare(o *Options) error {
	if o.Tier == "" {
		o.Tier = ComputeHeavy
	}
	return nil
}

func (SalesLines) builder(o *Options) lineBuilder { return newSalesBuilder(o) }

func (b *SalesBuilder) buildLine(values []string, correlationID string) (settle.Envelope, *settle.Failure, error) {
	claim := claimOf(values)
	claim.CorrelationID = correlationID
	e, failure, err := b.Build(&claim)
	return e, failure, err
}
