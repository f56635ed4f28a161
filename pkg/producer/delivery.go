package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tieout/tieout/pkg/settle"
)

// A SalesDelivery sends a file of claim lines: it checks each line, sends the
// good ones in order, and puts the others into a rejects file.
type SalesDelivery struct {
	Path string
	// RejectsPath is where refused lines go (default: the path and
	// .rejects.csv).
	RejectsPath string
	// VendorsPath is a file of the vendors that may claim, as ReadVendors reads
	// it (default: all may).
	VendorsPath string
	// Strict checks the whole file first, and sends nothing where a line is
	// refused.
	Strict bool
	// DryRun checks the whole file, and contacts nothing.
	DryRun bool
	// Progress is told how much of the file's text is done, and total when no
	// more comes, also where that is an error. Strict goes over the file twice.
	Progress func(done, total int64)
	// Options are the producer's. RunID comes from the file's content where it's
	// empty; the correlation id of a line is the run id, a colon, and the number
	// of the line in the file.
	Options Options
}

// A Report says what became of a file.
type Report struct {
	File     string `json:"file"`
	RunID    string `json:"run_id"`
	Delivery string `json:"delivery"`
	Tier     Tier   `json:"tier"`
	Topic    string `json:"topic"`
	DryRun   bool   `json:"dry_run"`

	Lines      int64                   `json:"lines"`
	Sent       int64                   `json:"sent"` // all acknowledged
	Partitions map[int32]int64         `json:"partitions"`
	Rejected   int64                   `json:"rejected"`
	Reasons    map[settle.Reason]int64 `json:"reasons"`

	RejectsFile   string   `json:"rejects_file,omitempty"` // where there is one
	UnusedColumns []string `json:"unused_columns,omitempty"`
	Seconds       float64  `json:"seconds"`
}

// Run delivers the file. The error is a *FileError, one of NewSales, or a
// *DeliveryError where something may have been sent.
func (d SalesDelivery) Run(ctx context.Context) (report Report, err error) {
	start := time.Now()
	file, err := OpenFile(ctx, d.Path)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	if d.VendorsPath != "" {
		if d.Options.Vendors, err = ReadVendors(ctx, d.VendorsPath); err != nil {
			return Report{}, err
		}
	}
	d.Options.RunID = cmp.Or(d.Options.RunID, file.DefaultRunID(salesStream))
	if err := d.Options.Validate(); err != nil {
		return Report{}, err
	}
	topic, err := d.Options.topic(salesStream)
	if err != nil {
		return Report{}, err
	}
	report = Report{
		File: d.Path, RunID: d.Options.RunID, Delivery: d.Options.Delivery,
		Tier: d.Options.Tier, Topic: topic, DryRun: d.DryRun, Partitions: map[int32]int64{},
	}
	if err := d.deliver(ctx, file, &report); err != nil {
		return report, err
	}
	report.Seconds = float64(time.Since(start).Milliseconds()) / 1000
	return report, nil
}

// deliver goes over the lines, and leaves a rejects file only where it got to
// the end of them.
func (d SalesDelivery) deliver(ctx context.Context, file *File, report *Report) error {
	lines, err := file.Lines(SalesColumns())
	if err != nil {
		return err
	}
	path := cmp.Or(d.RejectsPath, DefaultRejectsPath(file))
	rejects, err := NewRejects(path, file, lines.Columns())
	if err != nil {
		return err
	}
	if err := d.checkAndSend(ctx, file, rejects, report); err != nil {
		return errors.Join(err, rejects.Discard())
	}
	if report.Rejected > 0 {
		report.RejectsFile = path
	}
	return rejects.Commit()
}

func (d SalesDelivery) checkAndSend(ctx context.Context, file *File, rejects *Rejects, report *Report) error {
	if d.Strict || d.DryRun {
		if err := d.check(ctx, file, rejects, report); err != nil || d.DryRun || report.Rejected > 0 {
			return err
		}
	}
	producer, err := NewSales(ctx, d.Options)
	if err != nil {
		return err
	}
	defer producer.Close()
	return d.send(ctx, producer, file, rejects, report)
}

// check goes over the lines and sends none.
func (d SalesDelivery) check(ctx context.Context, file *File, rejects *Rejects, report *Report) error {
	builder := newSalesBuilder(&d.Options)
	tally, err := d.pass(file, rejects, func(line Line) (*settle.Failure, error) {
		_, failure, err := builder.Build(d.claim(line))
		return failure, err
	}).run(ctx)
	report.count(tally)
	return err
}

// send goes over the lines and sends the good ones. Where ctx ends it sends no
// more, and waits a little for those under way.
func (d SalesDelivery) send(ctx context.Context, producer *Sales, file *File, rejects *Rejects, report *Report) error {
	underWay, cancel := withGrace(ctx, flushTimeout)
	defer cancel()
	tally, err := d.pass(file, rejects, func(line Line) (*settle.Failure, error) {
		envelope, failure, err := producer.Build(d.claim(line))
		if failure != nil || err != nil {
			return failure, err
		}
		return nil, producer.Send(underWay, envelope)
	}).run(ctx)
	err = cmp.Or(err, producer.Flush(underWay))

	receipt := producer.Receipt()
	report.count(tally)
	report.Sent, report.Partitions = receipt.Acknowledged, receipt.Partitions
	switch {
	case ctx.Err() != nil:
		err = ErrInterrupted
	case err == nil && report.Sent != report.Lines-report.Rejected:
		err = fmt.Errorf("%d lines are acknowledged of %d sent", report.Sent, report.Lines-report.Rejected)
	}
	if err != nil {
		return &DeliveryError{Path: d.Path, Acknowledged: receipt.Acknowledged, Err: err}
	}
	return nil
}

func (d SalesDelivery) pass(file *File, rejects *Rejects, handle func(Line) (*settle.Failure, error)) pass {
	p := pass{file: file, columns: SalesColumns(), rejects: rejects, handle: handle}
	if d.Progress != nil {
		p.progress = func(done int64) { d.Progress(done, file.Size()) }
	}
	return p
}

// claim takes a line, whose number makes its correlation id: whoever sees an
// outcome finds the line.
func (d SalesDelivery) claim(line Line) *SalesClaim {
	claim := claimOf(line.Values)
	claim.CorrelationID = d.Options.RunID + ":" + strconv.FormatInt(line.Number, 10)
	return &claim
}

func (r *Report) count(tally Tally) {
	r.Lines = tally.Lines
	r.Rejected = tally.RefusedTotal()
	r.Reasons = tally.Refused
	r.UnusedColumns = tally.Unused
}

// flushTimeout is how long an interrupted delivery waits for what is under way:
// a broker that is well answers in a fraction of it.
const flushTimeout = 5 * time.Second

// withGrace makes a context that ends a while after ctx does.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	graced, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-graced.Done():
		}
	})
	return graced, func() { stop(); cancel() }
}
