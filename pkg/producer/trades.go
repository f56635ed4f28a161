package producer

import (
	"context"
	"errors"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/trades"
)

// A TradesBuilder makes envelopes of trades, and contacts nothing.
type TradesBuilder struct{ ids *ids }

// NewTradesBuilder makes a builder by the options' source of ids.
func NewTradesBuilder(o Options) (*TradesBuilder, error) {
	if err := o.prepare(TradeLines{}); err != nil {
		return nil, err
	}
	return newTradesBuilder(&o), nil
}

func newTradesBuilder(o *Options) *TradesBuilder {
	return &TradesBuilder{ids: newIDs(o.Now, o.Entropy)}
}

// Build makes the envelope of one version of a trade, or says why it can't be
// one. The checks are those of form, in this order:
//
//  1. dates and numbers: last_modified, version, mwh, price,
//     settlement_interval; each must be there (but for last_modified, or the
//     version in its stead) and be what it should. An interval in another zone is
//     the same one in UTC;
//  2. those that the worker makes as well (trades.Envelope.CheckForm): texts are
//     UTF-8 without NUL, not too long, and not empty but for market run and
//     meter.
//
// Content (currency, range of the product) is the worker's to judge. The error
// is one of the source of entropy, not of the trade.
func (b *TradesBuilder) Build(trade *Trade) (*trades.Envelope, *settle.Failure, error) {
	id, err := b.ids.next()
	if err != nil {
		return nil, nil, err
	}
	e := &trades.Envelope{MessageID: id}
	if failure := trade.fill(e); failure != nil {
		return nil, failure, nil
	}
	if failure := complete(e, &e.CorrelationID, &e.ReconciliationKey, id); failure != nil {
		return nil, failure, nil
	}
	return e, nil, nil
}

// Trades puts trades onto their topic, as Sales does claims.
type Trades struct {
	*TradesBuilder
	*enqueuer
}

// NewTrades makes a producer whose topic is there and whose schema is
// registered. Its errors are those of NewSales.
func NewTrades(ctx context.Context, o Options) (*Trades, error) {
	if err := o.prepare(TradeLines{}); err != nil {
		return nil, err
	}
	enqueuer, err := newEnqueuer(ctx, &o, trades.New())
	if err != nil {
		return nil, err
	}
	return &Trades{TradesBuilder: newTradesBuilder(&o), enqueuer: enqueuer}, nil
}

// Send enqueues an envelope that Build made, as Sales.Send does.
func (t *Trades) Send(ctx context.Context, e *trades.Envelope) error { return t.enqueue(ctx, e) }

// TradeLines are lines of trade versions.
type TradeLines struct{}

// Columns are those of a Trade.
func (TradeLines) Columns() Columns { return tradeColumns() }

func (TradeLines) stream() settle.Stream { return trades.New() }

func (TradeLines) prepare(o *Options) error {
	if o.Tier != "" || o.Vendors != nil {
		return errors.New("trades have neither tiers nor vendors")
	}
	return nil
}

func (TradeLines) builder(o *Options) lineBuilder { return newTradesBuilder(o) }

func (b *TradesBuilder) buildLine(values []string, correlationID string) (settle.Envelope, *settle.Failure, error) {
	trade := tradeOf(values)
	trade.CorrelationID = correlationID
	e, failure, err := b.Build(&trade)
	return e, failure, err
}
