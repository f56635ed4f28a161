package telemetry

// Metric names are part of the interface: dashboards and alerts are built on
// them. Where OpenTelemetry's semantic conventions for messaging have a name,
// it's used with its attributes; what is tieout's own starts with tieout.
// Prometheus shows them with underscores and the unit behind.
const (
	// MetricConsumed counts the records settled, whatever became of them.
	MetricConsumed = "messaging.client.consumed.messages"
	// MetricRecords counts records by outcome, class and reason.
	MetricRecords = "tieout.records"
	// MetricStageDuration is how long each stage of a batch took. The
	// convention's messaging.process.duration has no stages, and which of them
	// is slow is what one wants to know.
	MetricStageDuration = "tieout.batch.stage.duration"
	// MetricFenceLosses counts partitions that another worker had taken when
	// this one wanted to commit.
	MetricFenceLosses = "tieout.fence.losses"
	// MetricLag is the number of records not settled yet.
	MetricLag = "tieout.lag"
	// MetricLagAge is the age of the oldest record not settled yet.
	MetricLagAge = "tieout.lag.age"
	// MetricPartitions is the number of partitions in a state.
	MetricPartitions = "tieout.partitions"
	// MetricDeadLetters is the number of dead letters that the ledger holds.
	MetricDeadLetters = "tieout.dead_letters"
)

// Attribute names. Each takes its values from a closed set, or, for the
// partition, from one as small as the topic: never a vendor and never a key.
const (
	attrLane      = "lane"
	attrStage     = "stage"
	attrOutcome   = "outcome"
	attrClass     = "class"
	attrReason    = "reason"
	attrState     = "state"
	attrPartition = "partition"

	attrSystem    = "messaging.system"
	attrOperation = "messaging.operation.name"
)
