package producer

import (
	"context"
	"fmt"

	"github.com/tieout/tieout/streams/findings"
)

// Findings puts what a reconciliation finds onto its topic, in order and each as
// often as it's sent: a finding that's known is a duplicate there. It's for one
// goroutine at a time.
type Findings struct {
	*enqueuer
	ids *ids
}

// NewFindings makes a producer whose topic is there and whose schema is
// registered. Its errors are those of NewSales.
func NewFindings(ctx context.Context, o Options) (*Findings, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	enqueuer, err := newEnqueuer(ctx, &o, findings.New())
	if err != nil {
		return nil, err
	}
	return &Findings{enqueuer: enqueuer, ids: newIDs(o.Now, o.Entropy)}, nil
}

// Send gives a finding its id and its key and enqueues it, as Sales.Send does.
func (f *Findings) Send(ctx context.Context, e *findings.Envelope) error {
	id, err := f.ids.next()
	if err != nil {
		return err
	}
	e.MessageID = id
	if failure := complete(e, &e.CorrelationID, &e.ReconciliationKey, id); failure != nil {
		return fmt.Errorf("finding of trade %s: %s", e.TradeID, failure.Message())
	}
	return f.enqueue(ctx, e)
}
