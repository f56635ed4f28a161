package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/reconcile"
)

// A disputeOpening enqueues findings for the lane that settles them. A nil one
// enqueues nothing.
type disputeOpening struct {
	cfg      *config
	producer *producer.Findings
	runID    string
	delivery string
	closers  []func()
}

// openDisputes connects to where findings are enqueued, before the first one is
// found.
func (a *app) openDisputes(ctx context.Context, cfg *config, statement *reconcile.Statement) (*disputeOpening, error) {
	options, err := a.producerOptions(cfg, produceFlags{runID: statement.RunID()})
	if err != nil {
		return nil, err
	}
	if err := options.Validate(); err != nil { // which also draws the delivery's id
		return nil, err
	}
	d := &disputeOpening{cfg: cfg, runID: options.RunID, delivery: options.Delivery}
	if options.Registry, err = openRegistry(cfg); err != nil {
		return nil, err
	}
	d.closers = append(d.closers, options.Registry.Close)
	if d.producer, err = producer.NewFindings(ctx, options); err != nil {
		d.close()
		return nil, err
	}
	d.closers = append(d.closers, d.producer.Close)
	return d, nil
}

// open enqueues one finding.
func (d *disputeOpening) open(ctx context.Context, f *reconcile.Finding) error {
	if d == nil {
		return nil
	}
	envelope, err := f.Envelope(f.CorrelationID(d.runID))
	if err != nil {
		return err
	}
	return d.cutShort(d.producer.Send(ctx, envelope))
}

// finish waits until all of them are acknowledged.
func (d *disputeOpening) finish(ctx context.Context) error {
	if d == nil {
		return nil
	}
	return d.cutShort(d.producer.Flush(ctx))
}

// cutShort says how many disputes are opened where no more can be.
func (d *disputeOpening) cutShort(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s enqueued, then: %w; run it again, what is enqueued already is skipped as a duplicate",
		counted(d.enqueued(), "finding"), explainProduce(d.cfg, err))
}

// enqueued is how many findings are acknowledged.
func (d *disputeOpening) enqueued() int64 { return d.producer.Receipt().Acknowledged }

func (d *disputeOpening) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}
