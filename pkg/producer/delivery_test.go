package producer

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/settle"
)

// copied copies a file of testdata into a folder of the test's own, so that its
// rejects file comes to stand there.
func copied(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{testdata}, path...)...))
	require.NoError(t, err)
	return written(t, path[len(path)-1], content)
}

func TestDelivery_PlantedLinesAreSentInOrderOrRefused(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "planted", "sales_planted.claims.csv")
	report, err := Delivery{Lines: SalesLines{}, Path: path, Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 364, report.Lines)
	require.EqualValues(t, 329, report.Sent)
	require.EqualValues(t, 35, report.Rejected)
	require.Equal(t, map[settle.Reason]int64{
		"not_a_decimal": 12, "invalid_agreement_version": 5, "invalid_claim_period": 4, "missing_field": 4, "invalid_date": 3,
		"separator_in_key_part": 3, "too_many_fraction_digits": 2, "out_of_range": 1, "field_too_long": 1,
	}, report.Reasons)

	expected := readCSV(t, filepath.Join(testdata, "planted", "sales_planted.expected.csv"))
	lastLine := make(map[int32]int)
	for _, envelope := range installation.envelopes(t, 329) {
		record := envelope.record
		number := lineNumber(t, report, envelope.CorrelationID)
		require.Greater(t, number, lastLine[record.Partition], "order is kept")
		lastLine[record.Partition] = number

		require.Equal(t, expected[number-1][0], envelope.ReconciliationKey, "line %d", number)
		require.Equal(t, envelope.ReconciliationKey, string(record.Key))
		require.EqualValues(t, (murmur2(record.Key)&0x7fffffff)%6, record.Partition)
		require.Equal(t, "recon.accrue", record.Topic)
		require.Equal(t, "compute_heavy", envelope.QueueTier)
		require.Equal(t, []kgo.RecordHeader{
			{Key: settle.HeaderRunID, Value: []byte(report.RunID)},
			{Key: settle.HeaderDelivery, Value: []byte(report.Delivery)},
			{Key: settle.HeaderCorrelationID, Value: []byte(envelope.CorrelationID)},
		}, record.Headers)
		_, err = ulid.ParseStrict(envelope.MessageID)
		require.NoError(t, err)
	}
	requirePlantedRejects(t, path+".rejects.csv", expected)
}

func requirePlantedRejects(t *testing.T, path string, expected [][]string) {
	t.Helper()
	rejects := readCSV(t, path)
	claims := readCSV(t, filepath.Join(testdata, "planted", "sales_planted.claims.csv"))
	require.Equal(t, append(rejectsColumns(), claims[0]...), rejects[0])
	var numbers []int
	for _, row := range rejects[1:] {
		number, err := strconv.Atoi(row[0])
		require.NoError(t, err)
		numbers = append(numbers, number)
		require.Equal(t, expected[number-1][3], row[3])
		require.Equal(t, claims[number-1], row[4:])
		at := slices.Index(claims[0], row[1])
		require.True(t, strings.HasPrefix(claims[number-1][at], strings.TrimSuffix(row[2], "...")))
	}
	require.Len(t, numbers, 35)
	require.IsIncreasing(t, numbers)
}

func TestDelivery_MendedRejectsAreSent(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "planted", "sales_planted.claims.csv")
	_, err := Delivery{Lines: SalesLines{}, Path: path, Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)

	text, err := os.ReadFile(path + ".rejects.csv")
	require.NoError(t, err)
	mended := strings.NewReplacer(",latest,", ",7,", ",2010Q4,", ",2010-Q4,", ",yesterday", ",2010-12-01T08:26:00Z").Replace(string(text))
	require.NoError(t, os.WriteFile(path+".rejects.csv", []byte(mended), 0o600))
	report, err := Delivery{Lines: SalesLines{}, Path: path + ".rejects.csv", Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, report.Sent)
	require.EqualValues(t, 32, report.Rejected)
	require.Equal(t, path+".rejects.csv.rejects.csv", report.RejectsFile)
}

func TestDelivery_MonthOfClaims(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "sales", "retail_2010_12.claims.csv.gz")
	var done, total int64
	report, err := Delivery{Lines: SalesLines{}, Path: path, Options: installation.options(), Progress: func(d, of int64) { done, total = d, of }}.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 42_944, report.Sent)
	require.Zero(t, report.Rejected)
	require.Empty(t, report.RejectsFile)
	require.NotZero(t, total)
	require.Equal(t, total, done)
	requireNothingElse(t, path)

	perPartition := make(map[int32]int64)
	for _, record := range installation.records(t, 42_944) {
		perPartition[record.Partition]++
	}
	require.Equal(t, perPartition, report.Partitions)
}

func TestDelivery_TheSameContentIsTheSameRunInAnotherDelivery(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	text, err := os.ReadFile(filepath.Join(testdata, "claims", "quotes_doubled", "claims.csv"))
	require.NoError(t, err)
	plain, err := Delivery{Lines: SalesLines{}, Path: written(t, "a.csv", text), Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	again, err := Delivery{Lines: SalesLines{}, Path: written(t, "b.csv.gz", zipped(t, string(text))), Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `^sales-[0-9a-f]{16}$`, plain.RunID)
	require.Equal(t, plain.RunID, again.RunID)
	require.NotEqual(t, plain.Delivery, again.Delivery)

	options := installation.options()
	options.RunID = "december"
	named, err := Delivery{Lines: SalesLines{}, Path: written(t, "c.csv", text), Options: options}.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "december", named.RunID)
}

func TestDelivery_TierPicksTheTopic(t *testing.T) {
	t.Parallel()
	for tier, topic := range map[Tier]string{FastPath: "recon.validate", ComputeHeavy: "recon.accrue", DeadLetter: "recon.dlq"} {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			installation := startInstallation(t)
			options := installation.options()
			options.Tier = tier
			report, err := Delivery{Lines: SalesLines{}, Path: copied(t, "claims", "carriage_returns", "claims.csv"), Options: options}.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, topic, report.Topic)
			for _, envelope := range installation.envelopes(t, 2) {
				require.Equal(t, topic, envelope.record.Topic)
				require.Equal(t, string(tier), envelope.QueueTier)
			}
		})
	}
}

func TestDelivery_StrictSendsAllOrNothing(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "planted", "sales_planted.claims.csv")
	report, err := Delivery{Lines: SalesLines{}, Path: path, Strict: true, Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	require.Zero(t, report.Sent)
	require.EqualValues(t, 35, report.Rejected)
	require.Len(t, readCSV(t, report.RejectsFile), 36)
	installation.records(t, 0)

	good := copied(t, "sales", "retail_2010_12.claims.csv.gz")
	report, err = Delivery{Lines: SalesLines{}, Path: good, Strict: true, Options: installation.options()}.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 42_944, report.Sent)
}

func TestDelivery_DryRunContactsNothing(t *testing.T) {
	t.Parallel()
	path := copied(t, "planted", "sales_planted.claims.csv")
	for _, strict := range []bool{false, true} {
		report, err := Delivery{Lines: SalesLines{}, Path: path, DryRun: true, Strict: strict}.Run(t.Context())
		require.NoError(t, err)
		require.True(t, report.DryRun)
		require.Zero(t, report.Sent)
		require.EqualValues(t, 35, report.Rejected)
		require.Len(t, readCSV(t, report.RejectsFile), 36)
	}
}

func TestDelivery_InterruptedWaitsForWhatIsUnderWayAndSaysHowMuch(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "sales", "retail_2010_12.claims.csv.gz")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := false
	_, err := Delivery{Lines: SalesLines{}, Path: path, Options: installation.options(), Progress: func(done, total int64) {
		if done > total/2 {
			cancel()
		}
		ended = done == total
	}}.Run(ctx)
	require.True(t, ended, "progress has an end")
	var delivery *DeliveryError
	require.ErrorAs(t, err, &delivery)
	require.ErrorIs(t, err, ErrInterrupted)
	require.NotErrorIs(t, err, context.Canceled)
	require.Greater(t, delivery.Acknowledged, int64(10_000))
	require.Less(t, delivery.Acknowledged, int64(42_944))
	installation.records(t, int(delivery.Acknowledged))
	requireNothingElse(t, path)
}

func TestDelivery_InterruptedDoesNotWaitForABrokerThatIsSilent(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	silence(installation.kafka)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	_, err := Delivery{Lines: SalesLines{}, Path: copied(t, "sales", "retail_2010_12.claims.csv.gz"), Options: installation.options(), Progress: func(done, total int64) {
		if done > total/4 {
			cancel()
		}
	}}.Run(ctx)
	require.ErrorIs(t, err, ErrInterrupted)
	require.Less(t, time.Since(start), flushTimeout+10*time.Second)
}

// silence has the broker swallow what is sent to it.
func silence(kafka *devstack.Kafka) {
	kafka.Cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		kafka.Cluster.KeepControl()
		return nil, nil, true
	})
}

func TestDelivery_ThatCannotGoOnSaysHowMuchIsAcknowledged(t *testing.T) {
	t.Parallel()
	installation := startInstallation(t)
	path := copied(t, "sales", "retail_2010_12.claims.csv.gz")
	require.NoError(t, os.WriteFile(path+".rejects.csv", []byte("line,field,value,reason,of an earlier try\n"), 0o600))
	options := installation.options()
	options.DeliveryTimeout = time.Second
	closed := false
	_, err := Delivery{Lines: SalesLines{}, Path: path, Options: options, Progress: func(done, total int64) {
		if done > total/2 && !closed {
			closed = true
			installation.kafka.Cluster.Close()
		}
	}}.Run(t.Context())
	var (
		delivery *DeliveryError
		broker   *BrokerError
	)
	require.ErrorAs(t, err, &delivery)
	require.ErrorAs(t, err, &broker)
	require.Positive(t, delivery.Acknowledged)
	require.Contains(t, err.Error(), "acknowledged up to here: "+strconv.FormatInt(delivery.Acknowledged, 10)+" lines; send the file again")
	require.FileExists(t, path+".rejects.csv", "what an earlier try refused is refused still")
}

func TestDelivery_SaysWhatIsMissingBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	path := copied(t, "claims", "carriage_returns", "claims.csv")
	away := startInstallation(t).options()
	away.Client = []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}
	noTopic := startInstallation(t).options()
	noTopic.TopicPrefix = "other."
	noSchema := startInstallation(t).options()
	noSchema.Registry = testRegistry(t, devstack.TestRegistry(t).URL())
	noRegistry := startInstallation(t).options()
	noRegistry.Registry = testRegistry(t, "http://127.0.0.1:1")
	for want, options := range map[string]Options{
		"Kafka at 127.0.0.1:1: unable to dial: ":                                                        away,
		"topic other.recon.accrue does not exist: run `tieout setup`":                                   noTopic,
		"the registry has no schema for subject recon.accrue-value, or another one: run `tieout setup`": noSchema,
		"schema registry http://127.0.0.1:1: the schema of subject recon.accrue-value: ":                noRegistry,
	} {
		_, err := Delivery{Lines: SalesLines{}, Path: path, Options: options}.Run(t.Context())
		require.ErrorContains(t, err, want)
	}
	requireNothingElse(t, path)
}

func TestReport_IsJSONForMachines(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Report{File: "f", RunID: "r", Partitions: map[int32]int64{3: 4}, Reasons: map[settle.Reason]int64{"not_a_decimal": 1}})
	require.NoError(t, err)
	require.JSONEq(t, `{"file":"f","run_id":"r","delivery":"","tier":"","topic":"","dry_run":false,"lines":0,"sent":0,
		"partitions":{"3":4},"rejected":0,"reasons":{"not_a_decimal":1},"seconds":0}`, string(got))
}
