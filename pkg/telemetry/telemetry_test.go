package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(t *testing.T, options Options) *Telemetry {
	t.Helper()
	telemetry, err := Setup(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(t.Context())) })
	return telemetry
}

// scrape returns the series of tieout's own, and the conventions', without
// those of the runtime.
func scrape(t *testing.T, telemetry *Telemetry) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	telemetry.Metrics().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, PathMetrics, nil))
	require.Equal(t, http.StatusOK, recorder.Code)
	var series []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "tieout_") || strings.HasPrefix(line, "messaging_") {
			series = append(series, line)
		}
	}
	slices.Sort(series)
	return strings.Join(series, "")
}

func TestInstruments_AreScrapedUnderTheirNames(t *testing.T) {
	telemetry := setup(t, Options{Version: "v1"})
	i := telemetry.Instruments
	i.Outcomes("validate", "auto_post", "", "", 40)
	i.Outcomes("validate", "auto_post", "", "", 2)
	i.Outcomes("validate", "dead_letter", "business", "negative_units", 1)
	i.Fenced("validate")
	i.Lag("accrue", 3, 17, 1500*time.Millisecond)
	i.Partitions("accrue", "active", 5)
	i.Partitions("accrue", "halted", 1)
	i.DeadLetters("structural", 9)

	require.Equal(t, `messaging_client_consumed_messages_total{lane="validate",messaging_operation_name="poll",messaging_system="kafka"} 43
tieout_dead_letters{class="structural"} 9
tieout_fence_losses_total{lane="validate"} 1
tieout_lag_age_seconds{lane="accrue",partition="3"} 1.5
tieout_lag{lane="accrue",partition="3"} 17
tieout_partitions{lane="accrue",state="active"} 5
tieout_partitions{lane="accrue",state="halted"} 1
tieout_records_total{class="",lane="validate",outcome="auto_post",reason=""} 42
tieout_records_total{class="business",lane="validate",outcome="dead_letter",reason="negative_units"} 1
`, scrape(t, telemetry))
}

func TestInstruments_StagesOfABatchAreOneHistogram(t *testing.T) {
	telemetry := setup(t, Options{})
	telemetry.Instruments.Took("validate", "postgres", 30*time.Millisecond)

	series := scrape(t, telemetry)
	require.Contains(t, series, `tieout_batch_stage_duration_seconds_bucket{lane="validate",stage="postgres",le="0.025"} 0`)
	require.Contains(t, series, `tieout_batch_stage_duration_seconds_bucket{lane="validate",stage="postgres",le="0.05"} 1`)
	require.Contains(t, series, `tieout_batch_stage_duration_seconds_bucket{lane="validate",stage="postgres",le="30"} 1`)
}

func TestInstruments_ALostPartitionHasNoLagAnyMore(t *testing.T) {
	telemetry := setup(t, Options{})
	telemetry.Instruments.Lag("validate", 1, 5, time.Second)
	telemetry.Instruments.Lag("validate", 2, 5, time.Second)
	telemetry.Instruments.Forget("validate", 1)

	series := scrape(t, telemetry)
	require.NotContains(t, series, `partition="1"`)
	require.Contains(t, series, `partition="2"`)
}

func TestMetrics_ShowTheRuntimeAndWhoReports(t *testing.T) {
	telemetry := setup(t, Options{Version: "v1.2.3", Instance: "worker-1", Environment: []string{"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test%20bed"}})
	recorder := httptest.NewRecorder()
	telemetry.Metrics().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, PathMetrics, nil))
	body := recorder.Body.String()
	require.Contains(t, body, "go_goroutines ")
	require.Contains(t, body, "process_resident_memory_bytes ")
	require.Regexp(t, `target_info\{deployment_environment_name="test bed",service_instance_id="worker-1",service_name="tieout",service_version="v1.2.3"`, body)
}

// A collector is what OTLP is sent to.
type collector struct {
	mu       sync.Mutex
	requests map[string]http.Header
}

func newCollector(t *testing.T, status int) (*collector, string) {
	t.Helper()
	c := &collector{requests: map[string]http.Header{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests[r.URL.Path] = r.Header.Clone()
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return c, server.URL
}

func (c *collector) header(path, name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[path].Get(name)
}

func (c *collector) paths() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var paths []string
	for path := range c.requests {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// work makes one span and one count.
func work(t *testing.T, telemetry *Telemetry) {
	t.Helper()
	_, span := telemetry.Tracer().Start(t.Context(), "batch")
	span.End()
	telemetry.Instruments.Fenced("validate")
}

func TestOTLP_IsSentWhereItsVariablesSay(t *testing.T) {
	receiver, url := newCollector(t, http.StatusOK)
	telemetry := setup(t, Options{Environment: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + url + "/otlp",
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=all",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + url + "/own/path",
		"OTEL_EXPORTER_OTLP_METRICS_HEADERS=api-key=of%20metrics",
	}})
	work(t, telemetry)
	require.NoError(t, telemetry.Shutdown(t.Context()))

	require.Equal(t, []string{"/otlp/v1/traces", "/own/path"}, receiver.paths())
	require.Equal(t, "all", receiver.header("/otlp/v1/traces", "Api-Key"))
	require.Equal(t, "of metrics", receiver.header("/own/path", "Api-Key"))
}

func TestOTLP_IsOffUnlessAskedFor(t *testing.T) {
	receiver, url := newCollector(t, http.StatusOK)
	for name, environment := range map[string][]string{
		"no variable": nil,
		"disabled":    {"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_SDK_DISABLED=true"},
		"no exporter": {"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"},
	} {
		t.Run(name, func(t *testing.T) {
			telemetry := setup(t, Options{Environment: environment})
			work(t, telemetry)
			require.NoError(t, telemetry.Shutdown(t.Context()))
			require.Empty(t, receiver.paths())
		})
	}
}

func TestOTLP_ARefusalIsLoggedAndNothingElse(t *testing.T) {
	_, url := newCollector(t, http.StatusForbidden)
	var log strings.Builder
	telemetry := setup(t, Options{
		Environment: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hunter2"},
		Logger:      slog.New(slog.NewTextHandler(&log, nil)),
	})
	work(t, telemetry)
	require.NoError(t, telemetry.Shutdown(t.Context()))
	require.Contains(t, log.String(), "spans were not exported")
	require.Contains(t, log.String(), "metrics were not exported")
	require.NotContains(t, log.String(), "hunter2")
}

func TestShutdown_IsBoundedWhenTheCollectorHangs(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })

	telemetry, err := Setup(t.Context(), Options{Environment: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL}})
	require.NoError(t, err)
	work(t, telemetry)
	started := time.Now()
	_ = telemetry.Shutdown(t.Context()) // whether the SDK tells of the time-out doesn't matter
	require.Less(t, time.Since(started), shutdownTimeout+2*time.Second)
}

func TestSetup_SaysWhichVariableIsWrong(t *testing.T) {
	for variable, environment := range map[string][]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT":        {"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://localhost"},
		"OTEL_EXPORTER_OTLP_PROTOCOL":        {"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"OTEL_EXPORTER_OTLP_HEADERS":         {"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "OTEL_EXPORTER_OTLP_HEADERS=hunter2"},
		"OTEL_RESOURCE_ATTRIBUTES":           {"OTEL_RESOURCE_ATTRIBUTES=a"},
	} {
		t.Run(variable, func(t *testing.T) {
			_, err := Setup(t.Context(), Options{Environment: environment})
			require.ErrorContains(t, err, variable)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}
