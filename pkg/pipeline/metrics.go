package pipeline

import "time"

// The stages of a batch, as metrics name them.
const (
	StagePoll     = "poll"
	StageSettle   = "settle"
	StagePostgres = "postgres"
	StageKafka    = "kafka"
)

// Metrics is what a worker tells while it works. Every label is from a closed
// set; counts are added once a batch, never once a record.
type Metrics interface {
	// Outcomes counts records by what became of them; reason and class are
	// empty but for dead letters.
	Outcomes(lane, outcome, class, reason string, records int)
	// Took observes how long a stage of a batch took.
	Took(lane, stage string, took time.Duration)
	// Fenced counts partitions lost to another worker.
	Fenced(lane string)
	// Lag gauges one partition's records not yet settled, and the age of the
	// oldest of them.
	Lag(lane string, partition int32, records int64, age time.Duration)
	// Forget ends the series of a partition that is another's now.
	Forget(lane string, partition int32)
	// DeadLetters gauges how many dead letters of a class stand in the ledger.
	DeadLetters(class string, depth int64)
	// Partitions gauges how many partitions are in a state.
	Partitions(lane, state string, partitions int)
}

type noMetrics struct{}

func (noMetrics) Outcomes(string, string, string, string, int) {}
func (noMetrics) Took(string, string, time.Duration)           {}
func (noMetrics) Fenced(string)                                {}
func (noMetrics) Lag(string, int32, int64, time.Duration)      {}
func (noMetrics) Forget(string, int32)                         {}
func (noMetrics) DeadLetters(string, int64)                    {}
func (noMetrics) Partitions(string, string, int)               {}
