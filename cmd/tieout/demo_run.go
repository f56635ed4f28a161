package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/telemetry"
)

// A demoRun is what the demo does with one file, and what comes of it.
type demoRun struct {
	app     *app
	sandbox *sandbox
	file    demoFile
	path    string
	tie     *tie
	report  streamReport
}

func (r *demoRun) phases() []phase {
	phases := []phase{
		{"produce", "sending " + r.file.name, r.produce},
		{"settle", "settling it", r.settle},
		{"compare", "comparing each line", r.compare},
		{"produce again", "sending " + r.file.name + " again", r.produce},
		{"settle again", "settling it again", r.settle},
		{"compare again", "comparing each line again", r.compare},
	}
	if r.file.statement == nil {
		return phases
	}
	return append(phases,
		phase{"reconcile", "comparing with the statement", r.reconcile},
		phase{"reconcile altered", "comparing with the statement altered", r.reconcileAltered},
	)
}

// prepare lays the file out, and reads what must become of it.
func (r *demoRun) prepare() (err error) {
	r.path = filepath.Join(r.sandbox.dir, r.file.name)
	if err := os.WriteFile(r.path, r.file.text, 0o600); err != nil {
		return err
	}
	r.report = streamReport{Stream: r.file.stream, File: r.file.name, Differences: []string{}, file: &r.file}
	if r.report.Expected, err = r.file.figures(); err != nil {
		return err
	}
	lines, err := r.file.readLines()
	r.tie = newTie(lines)
	return err
}

// differ notes differences of one kind.
func (r *demoRun) differ(kind string, differences ...string) {
	for _, difference := range differences {
		r.report.Differences = append(r.report.Differences, kind+difference)
	}
}

func (r *demoRun) lanes() []settle.Lane { return lanesOf(r.file.stream) }

// produce sends the file, as `tieout produce` does.
func (r *demoRun) produce(ctx context.Context) error {
	cfg := r.sandbox.cfg
	options, err := r.app.producerOptions(cfg, r.file.flags)
	if err != nil {
		return err
	}
	if options.Registry, err = openRegistry(cfg); err != nil {
		return err
	}
	defer options.Registry.Close()
	sent, err := producer.Delivery{Lines: r.file.lines, Path: r.path, Progress: r.app.progressBar(r.path), Options: options}.Run(ctx)
	if err != nil {
		return explainProduce(cfg, err)
	}
	r.tie.sent(sent.RunID, sent.Delivery)
	r.report.RunID = sent.RunID
	r.report.Deliveries = append(r.report.Deliveries, demoDelivery{Delivery: sent.Delivery, Sent: sent.Sent, Rejected: sent.Rejected})
	return r.compareRejects(sent.RejectsFile)
}

// settle runs the workers of the stream's lanes until nothing is left, as `tieout
// run --drain` does.
func (r *demoRun) settle(ctx context.Context) error {
	instruments, err := telemetry.NewInstruments(noop.NewMeterProvider().Meter(""))
	if err != nil {
		return err
	}
	meter := newMeter(instruments)
	set := &workerSet{
		cfg: r.sandbox.cfg, logger: r.sandbox.logger, metrics: meter,
		instance: strings.ToLower(ulid.Make().String()), instanceIsOwn: true,
		drain: true, parallelism: defaultParallelism,
	}
	defer set.close()
	if err := set.open(ctx, r.lanes()); err != nil {
		return err
	}
	if err := set.run(ctx); err != nil {
		return err
	}
	r.report.Deliveries[len(r.report.Deliveries)-1].took(meter.reading())
	return nil
}
