// Package telemetry sets OpenTelemetry up and names tieout's metrics. It is the
// only user of the OpenTelemetry SDK; others get a meter, a tracer or the
// Instruments. It sets no global provider.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// scope names the instrumentation in what is exported.
const scope = "github.com/tieout/tieout"

// shutdownTimeout bounds the last export: a worker that stops has promised to
// be gone soon, and what a dead collector misses isn't worth waiting for.
const shutdownTimeout = 3 * time.Second

// Options say who reports, and to whom.
type Options struct {
	Version  string // of the program
	Instance string // tells processes of one service apart

	// Environment holds NAME=value entries. OTEL_EXPORTER_OTLP_ENDPOINT and its
	// kin turn exporting on; without them nothing is sent anywhere.
	Environment []string

	// Logger hears of exports that failed; nothing else comes of them.
	Logger *slog.Logger
}

// Telemetry is OpenTelemetry, set up.
type Telemetry struct {
	Instruments *Instruments

	meters   *sdkmetric.MeterProvider
	tracers  trace.TracerProvider
	registry *prometheus.Registry
	shutdown []func(context.Context) error
}

// Setup makes the providers and their exporters. Shutdown must be called.
func Setup(ctx context.Context, options Options) (*Telemetry, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	env, err := readEnvironment(options.Environment)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{registry: prometheus.NewRegistry(), tracers: tracenoop.NewTracerProvider()}
	origin, err := env.resource(options.Version, options.Instance)
	if err != nil {
		return nil, fmt.Errorf("telemetry resource: %w", err)
	}
	if err := t.setUpTraces(ctx, env, origin, options.Logger); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	if err := t.setUpMetrics(ctx, env, origin, options.Logger); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) setUpMetrics(ctx context.Context, env environment, origin *resource.Resource, logger *slog.Logger) error {
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	scraped, err := otelprom.New(otelprom.WithRegisterer(t.registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return fmt.Errorf("set up the Prometheus exporter: %w", err)
	}
	options := []sdkmetric.Option{sdkmetric.WithResource(origin), sdkmetric.WithReader(scraped)}
	if env.metrics.enabled() {
		exporter, err := newMetricExporter(ctx, env.metrics, logger)
		if err != nil {
			return fmt.Errorf("set up the OTLP exporter of metrics: %w", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	t.meters = sdkmetric.NewMeterProvider(options...)
	t.shutdown = append(t.shutdown, t.meters.Shutdown)
	t.Instruments, err = NewInstruments(t.meters.Meter(scope))
	return err
}

func (t *Telemetry) setUpTraces(ctx context.Context, env environment, origin *resource.Resource, logger *slog.Logger) error {
	if !env.traces.enabled() {
		return nil
	}
	exporter, err := newSpanExporter(ctx, env.traces, logger)
	if err != nil {
		return fmt.Errorf("set up the OTLP exporter of traces: %w", err)
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithResource(origin), sdktrace.WithBatcher(exporter))
	t.tracers = tracers
	t.shutdown = append(t.shutdown, tracers.Shutdown)
	return nil
}

// Tracer returns tieout's tracer; it does nothing where no exporter is set up.
func (t *Telemetry) Tracer() trace.Tracer { return t.tracers.Tracer(scope) }

// Metrics serves what Prometheus scrapes.
func (t *Telemetry) Metrics() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: writeTimeout})
}

// Shutdown sends what is left and ends the exporters, within a bound of its
// own: it's called when ctx is done already.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	var failures []error
	for _, shutdown := range t.shutdown {
		failures = append(failures, shutdown(ctx))
	}
	t.shutdown = nil
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("end telemetry: %w", err)
	}
	return nil
}
