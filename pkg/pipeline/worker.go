// Package pipeline is the consumer-group worker: it polls a lane's topic,
// settles what it finds, commits it to the ledger with its offset, and
// publishes the outcomes. It is the only package with groups and transactions.
//
// It guards promises P1 to P5: Postgres is the truth and Kafka follows, so that
// whatever is cut short is found again from the ledger.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A Worker settles one lane. Its loop is the commit protocol: one method a
// step, in order.
type Worker struct {
	o        Options
	admin    *kadm.Client // for what the group's session can't tell
	side     *kgo.Client  // the connection behind admin
	schemas  *schemaFinder
	budget   *fetchBudget // of what is fetched between two polls
	session  *session
	outcomes outcomeEncoder

	mu         sync.Mutex // guards the map, what is shown, and trouble
	partitions map[int32]*partition
	shown      []PartitionStatus
	trouble    string // what keeps the whole lane from working; empty when well

	floorsMu sync.Mutex
	floors   *outcomeFloors // of this round of step 1

	polled         int // records of the last poll
	lastDrainCheck time.Time
}

// New checks the options; it connects to nothing.
func New(o Options) (*Worker, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Logger = o.Logger.With("lane", o.Lane.Name)
	side, err := kgo.NewClient(append([]kgo.Opt{kgo.RequestRetries(2), kgo.MaxDecompressBatchBytes(o.MaxDecompressBytes)}, o.Client...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka client for %s: %w", o.Lane.Name, err)
	}
	budget, err := newFetchBudget(side, o.MaxFetchedBytes)
	if err != nil {
		side.Close()
		return nil, err
	}
	w := &Worker{
		o: o, side: side, budget: budget, admin: kadm.NewClient(side), partitions: map[int32]*partition{},
		schemas: newSchemaFinder(o.Decoders, o.UnknownSchemaWait),
		trouble: "starting",
	}
	w.outcomes = outcomeEncoder{
		encoders: o.Encoders, topicPrefix: o.TopicPrefix, group: o.Group(), topics: o.Lane.Topics,
	}
	return w, nil
}

// Close ends what New opened.
func (w *Worker) Close() { w.side.Close() }

// Run works until ctx ends (nil), the lane is drained (nil), or it can't go
// on. A stop finishes the batch in hand.
func (w *Worker) Run(ctx context.Context) error {
	var lag sync.WaitGroup
	watching, cancel := context.WithCancel(ctx)
	lag.Go(func() { w.watchLag(watching) })
	defer lag.Wait()
	defer cancel()
	for {
		err := w.runSession(ctx)
		switch {
		case errors.Is(err, errNewSession):
			w.o.Logger.WarnContext(ctx, "new session", "why", err)
			w.setTrouble(err.Error())
			if !sleep(ctx, w.o.RetryBase) {
				return nil
			}
		default:
			return err
		}
	}
}

// runSession opens a session and works in it until it ends, is given up, or
// the lane is done.
func (w *Worker) runSession(ctx context.Context) error {
	if err := w.open(ctx); err != nil || w.session == nil {
		return err
	}
	defer func() {
		w.session.close()
		w.forgetPartitions()
	}()
	for first := true; ; {
		done, err := w.cycle(ctx)
		w.session.kafka.AllowRebalance()
		if err != nil {
			return err
		}
		if first {
			w.setTrouble("")
			first = false
		}
		if done || ctx.Err() != nil {
			return w.stop(ctx)
		}
	}
}

// open checks the topics, waiting for a broker that is away, and opens a
// session. Without one, ctx has ended.
func (w *Worker) open(ctx context.Context) error {
	w.session = nil
	var wait retry
	var told string
	for {
		err := w.checkTopics(ctx)
		var wrong *TopicError
		switch {
		case err == nil:
			w.session, err = openSession(&w.o, w.budget, int32(w.outcomes.maxMessageBytes), callbacks{w.assigned, w.revoked, w.lost})
			return err
		case errors.As(err, &wrong):
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // a stop while the broker is away is no failure
		}
		w.setTrouble("kafka: " + err.Error())
		if told != err.Error() {
			told = err.Error()
			w.o.Logger.WarnContext(ctx, "waiting for kafka", "error", err)
		}
		wait.later(time.Now(), w.o.RetryBase, w.o.RetryMax)
		sleep(ctx, wait.delay)
	}
}

// cycle is one round of the protocol. From the poll on no rebalance happens
// until it returns, and a stop doesn't cut it: what was polled is committed and
// published under a context of its own.
func (w *Worker) cycle(ctx context.Context) (done bool, err error) {
	fetches := w.poll(ctx) // 2
	work, cancel := lingering(ctx, w.o.StopTimeout, w.o.RebalanceTimeout)
	defer cancel()
	work, span := w.o.Tracer.Start(work, "tieout.batch")
	defer span.End()

	w.compareAssignment(work)
	if err := w.acquire(work); err != nil { // 1
		return false, err
	}
	if err := w.take(work, fetches); err != nil { // 2
		return false, err
	}
	if err := w.commit(work); err != nil { // 3
		return false, err
	}
	if err := w.publish(work); err != nil { // 4
		return false, err
	}
	if err := w.writeFloors(work, false); err != nil { // 5
		return false, err
	}
	w.pauseAndResume()
	w.observe()
	if w.o.Drain && ctx.Err() == nil {
		return w.drained(work)
	}
	return false, nil
}

// stop is the end of a session that is not given up: floors are written, so
// that a successor has nothing to rebuild, and the group is left.
func (w *Worker) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), floorTimeout)
	defer cancel()
	err := w.writeFloors(ctx, true)
	if errors.Is(err, errNewSession) {
		return nil // fenced while leaving: another has it
	}
	return err
}

// dropAll forgets every batch in hand: after an abort the client is back at
// the committed offsets, and the records come again.
func (w *Worker) dropAll() {
	for _, p := range w.held() {
		if p.stage == stageOwned {
			p.drop()
		}
	}
}

// pauseAndResume keeps the client from fetching what can't be taken: a
// partition with a batch still in hand, or one that isn't ours yet.
func (w *Worker) pauseAndResume() {
	var pause, resume []int32
	for _, p := range w.held() {
		ready := p.stage == stageOwned && (p.batch == nil || p.batch.refused && len(p.batch.entries) < w.o.MaxPollRecords)
		switch {
		case ready && p.paused:
			resume = append(resume, p.id)
		case !ready && !p.paused:
			pause = append(pause, p.id)
		}
		p.paused = !ready
	}
	w.session.pause(w.o.Topic(), pause...)
	w.session.resume(w.o.Topic(), resume...)
}

// lingering returns a context that outlives its parent by grace, so that a stop
// doesn't cut a commit, and ends after limit in any case.
func lingering(parent context.Context, grace, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), limit)
	stop := context.AfterFunc(parent, func() {
		sleep(ctx, grace)
		cancel()
	})
	return ctx, func() { stop(); cancel() }
}

// sleep waits, and tells whether it wasn't cut short.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
