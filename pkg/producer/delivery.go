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

// Lines say what the lines of a file are, and how they become one stream's
// envelopes: all that is particular to a stream in its delivery.
type Lines interface {
	// Columns are those of a file of such lines.
	Columns() Columns

	stream() settle.Stream
	// prepare fills in the options that are only this stream's, and says what is
	// wrong with them.
	prepare(*Options) error
	builder(*Options) lineBuilder
}

// A lineBuilder makes the envelope of one line, whose values are those of its
// Columns, or says why it can't be one.
type lineBuilder interface {
	buildLine(values []string, correlationID string) (settle.Envelope, *settle.Failure, error)
}

// complete gives an envelope that was filled in a correlation id, where it has
// none, checks its form, and gives it its key.
func complete(e settle.Envelope, correlationID, key *string, messageID string) *settle.Failure {
	*correlationID = cmp.Or(*correlationID, messageID)
	computed, failure := e.CheckForm()
	if failure == nil {
		*key = computed.Hex()
	}
	return failure
}

// A Delivery sends a file of lines: it checks each line, sends the good ones in
// order, and puts the others into a rejects file.
type Delivery struct {
	Lines Lines
	Path  string
	// RejectsPath is where refused lines go (default: the path and
	// .rejects.csv).
	RejectsPath string
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

// Run delivers the file. The error is a *FileError, one of NewSales or NewTrades, or a
// *DeliveryError where something may have been sent.
func (d Delivery) Run(ctx context.Context) (report Report, err error) {
	start := time.Now()
	file, err := OpenFile(ctx, d.Path)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	stream := d.Lines.stream().Name()
	d.Options.RunID = cmp.Or(d.Options.RunID, file.DefaultRunID(stream))
	if err := d.Options.prepare(d.Lines); err != nil {
		return Report{}, err
	}
	topic, err := d.Options.topic(stream)
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
func (d Delivery) deliver(ctx context.Context, file *File, report *Report) error {
	lines, err := file.Lines(d.Lines.Columns())
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

func (d Delivery) checkAndSend(ctx context.Context, file *File, rejects *Rejects, report *Report) error {
	if d.Strict || d.DryRun {
		if err := d.check(ctx, file, rejects, report); err != nil || d.DryRun || report.Rejected > 0 {
			return err
		}
	}
	producer, err := newEnqueuer(ctx, &d.Options, d.Lines.stream())
	if err != nil {
		return err
	}
	defer producer.Close()
	manifests, err := newManifestWriter(ctx, &d.Options, producer.sender)
	if err != nil {
		return err
	}
	return d.send(ctx, producer, manifests, file, rejects, report)
}

// check goes over the lines and sends none.
func (d Delivery) check(ctx context.Context, file *File, rejects *Rejects, report *Report) error {
	tally, err := d.pass(file, rejects, func(settle.Envelope) error { return nil }).run(ctx)
	report.count(tally)
	return err
}

// send goes over the lines, sends the good ones, and the manifest last. Where ctx
// ends it sends no more, and waits a little for those under way.
func (d Delivery) send(ctx context.Context, producer *enqueuer, manifests *manifestWriter, file *File, rejects *Rejects, report *Report) error {
	underWay, cancel := withGrace(ctx, flushTimeout)
	defer cancel()
	tally, err := d.pass(file, rejects, func(envelope settle.Envelope) error {
		return producer.enqueue(underWay, envelope)
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
	content := file.DefaultRunID(d.Lines.stream().Name())
	if err := d.conclude(underWay, producer, manifests, content, report, err); err != nil {
		return &DeliveryError{Path: d.Path, Acknowledged: receipt.Acknowledged, Err: err}
	}
	return nil
}

// pass builds the envelope of each line and hands it over. The line's number
// makes its correlation id: whoever sees an outcome finds the line.
func (d Delivery) pass(file *File, rejects *Rejects, handle func(settle.Envelope) error) pass {
	builder := d.Lines.builder(&d.Options)
	p := pass{file: file, columns: d.Lines.Columns(), rejects: rejects, handle: func(line Line) (*settle.Failure, error) {
		envelope, failure, err := builder.buildLine(line.Values, d.Options.RunID+":"+strconv.FormatInt(line.Number, 10))
		if failure != nil || err != nil {
			return failure, err
		}
		return nil, handle(envelope)
	}}
	if d.Progress != nil {
		p.progress = func(done int64) { d.Progress(done, file.Size()) }
	}
	return p
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
