package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Instruments are what a worker measures itself with. Counts are added once a
// batch, never once a record. All methods may be called from any goroutine.
type Instruments struct {
	consumed      metric.Int64Counter
	records       metric.Int64Counter
	stageDuration metric.Float64Histogram
	fenceLosses   metric.Int64Counter

	gauges gauges
}

// durationBuckets reach from what a small batch takes to what a time-out
// allows, in seconds.
func durationBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// NewInstruments makes the instruments on a meter; a no-op meter's cost
// nothing.
func NewInstruments(meter metric.Meter) (*Instruments, error) {
	i := &Instruments{gauges: newGauges()}
	var failures [4]error
	i.consumed, failures[0] = meter.Int64Counter(MetricConsumed, metric.WithUnit("{message}"),
		metric.WithDescription("Number of records settled, whatever became of them."))
	i.records, failures[1] = meter.Int64Counter(MetricRecords, metric.WithUnit("{record}"),
		metric.WithDescription("Number of records by what became of them; class and reason are those of dead letters."))
	i.stageDuration, failures[2] = meter.Float64Histogram(MetricStageDuration, metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(durationBuckets()...),
		metric.WithDescription("Duration of one stage of a batch: poll, settle, postgres, kafka."))
	i.fenceLosses, failures[3] = meter.Int64Counter(MetricFenceLosses, metric.WithUnit("{partition}"),
		metric.WithDescription("Number of partitions that another worker had taken when this one wanted to commit."))
	if err := errors.Join(failures[:]...); err != nil {
		return nil, fmt.Errorf("make the instruments: %w", err)
	}
	if err := i.gauges.register(meter); err != nil {
		return nil, fmt.Errorf("make the gauges: %w", err)
	}
	return i, nil
}

// Outcomes counts records of a lane by what became of them; class and reason
// are empty but for dead letters.
func (i *Instruments) Outcomes(lane, outcome, class, reason string, records int) {
	// Counters have no use for a context but baggage, which tieout has none of.
	ctx := context.Background()
	i.records.Add(ctx, int64(records), metric.WithAttributeSet(attribute.NewSet(
		attribute.String(attrLane, lane), attribute.String(attrOutcome, outcome),
		attribute.String(attrClass, class), attribute.String(attrReason, reason),
	)))
	i.consumed.Add(ctx, int64(records), metric.WithAttributeSet(attribute.NewSet(
		attribute.String(attrLane, lane), attribute.String(attrSystem, "kafka"), attribute.String(attrOperation, "poll"),
	)))
}

// Took observes how long a stage of a batch took.
func (i *Instruments) Took(lane, stage string, took time.Duration) {
	i.stageDuration.Record(context.Background(), took.Seconds(), metric.WithAttributeSet(attribute.NewSet(
		attribute.String(attrLane, lane), attribute.String(attrStage, stage),
	)))
}

// Fenced counts a partition lost to another worker.
func (i *Instruments) Fenced(lane string) {
	i.fenceLosses.Add(context.Background(), 1, metric.WithAttributeSet(attribute.NewSet(attribute.String(attrLane, lane))))
}

// Lag sets a partition's records not yet settled, and the age of the oldest of
// them.
func (i *Instruments) Lag(lane string, partition int32, records int64, age time.Duration) {
	i.gauges.mu.Lock()
	defer i.gauges.mu.Unlock()
	i.gauges.lag[lanePartition{lane, partition}] = lag{records, age}
}

// Forget ends the series of a partition that this worker lost: its lag is
// another's to tell.
func (i *Instruments) Forget(lane string, partition int32) {
	i.gauges.mu.Lock()
	defer i.gauges.mu.Unlock()
	delete(i.gauges.lag, lanePartition{lane, partition})
}

// Partitions sets how many of a lane's partitions are in a state.
func (i *Instruments) Partitions(lane, state string, partitions int) {
	i.gauges.mu.Lock()
	defer i.gauges.mu.Unlock()
	i.gauges.partitions[laneState{lane, state}] = int64(partitions)
}

// DeadLetters sets how many dead letters of a class the ledger holds.
func (i *Instruments) DeadLetters(class string, depth int64) {
	i.gauges.mu.Lock()
	defer i.gauges.mu.Unlock()
	i.gauges.deadLetters[class] = depth
}

// gauges hold the last value of each series until they're asked for. They
// are observed rather than recorded, so that a series can end.
type gauges struct {
	mu          sync.Mutex
	lag         map[lanePartition]lag
	partitions  map[laneState]int64
	deadLetters map[string]int64
}

type lanePartition struct {
	lane      string
	partition int32
}

type laneState struct{ lane, state string }

type lag struct {
	records int64
	age     time.Duration
}

func newGauges() gauges {
	return gauges{lag: map[lanePartition]lag{}, partitions: map[laneState]int64{}, deadLetters: map[string]int64{}}
}

func (g *gauges) register(meter metric.Meter) error {
	var failures [4]error
	records, err := meter.Int64ObservableGauge(MetricLag, metric.WithUnit("{record}"),
		metric.WithDescription("Number of records not settled yet."))
	failures[0] = err
	age, err := meter.Float64ObservableGauge(MetricLagAge, metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest record not settled yet."))
	failures[1] = err
	partitions, err := meter.Int64ObservableGauge(MetricPartitions, metric.WithUnit("{partition}"),
		metric.WithDescription("Number of partitions of this worker by state."))
	failures[2] = err
	deadLetters, err := meter.Int64ObservableGauge(MetricDeadLetters, metric.WithUnit("{record}"),
		metric.WithDescription("Number of dead letters in the ledger by class."))
	failures[3] = err
	if err := errors.Join(failures[:]...); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		for of, lag := range g.lag {
			set := metric.WithAttributeSet(attribute.NewSet(attribute.String(attrLane, of.lane), attribute.Int(attrPartition, int(of.partition))))
			o.ObserveInt64(records, lag.records, set)
			o.ObserveFloat64(age, lag.age.Seconds(), set)
		}
		for of, count := range g.partitions {
			o.ObserveInt64(partitions, count, metric.WithAttributes(attribute.String(attrLane, of.lane), attribute.String(attrState, of.state)))
		}
		for class, depth := range g.deadLetters {
			o.ObserveInt64(deadLetters, depth, metric.WithAttributes(attribute.String(attrClass, class)))
		}
		return nil
	}, records, age, partitions, deadLetters)
	return err
}
