package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// An environment is what OpenTelemetry's usual variables say. Whether and where
// to export is decided here; the finer ones (time-outs, certificates, sampling)
// are read by the SDK itself.
type environment struct {
	service    string
	attributes map[string]string
	traces     endpoint
	metrics    endpoint
}

// An endpoint is where one signal is sent.
type endpoint struct {
	url     string // empty: the signal isn't exported
	headers map[string]string
}

func (e endpoint) enabled() bool { return e.url != "" }

const defaultService = "tieout"

func readEnvironment(entries []string) (env environment, err error) {
	lookup := func(name string) string {
		for _, entry := range slices.Backward(entries) {
			if key, value, ok := strings.Cut(entry, "="); ok && key == name {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	if env.attributes, err = parsePairs("OTEL_RESOURCE_ATTRIBUTES", lookup("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return environment{}, err
	}
	for _, name := range []string{lookup("OTEL_SERVICE_NAME"), env.attributes[string(semconv.ServiceNameKey)], defaultService} {
		if env.service == "" {
			env.service = name
		}
	}
	if strings.EqualFold(lookup("OTEL_SDK_DISABLED"), "true") {
		return env, nil
	}
	if env.traces, err = readEndpoint(lookup, "TRACES", "/v1/traces"); err != nil {
		return environment{}, err
	}
	if env.metrics, err = readEndpoint(lookup, "METRICS", "/v1/metrics"); err != nil {
		return environment{}, err
	}
	return env, nil
}

// readEndpoint reads one signal's variables; they count more than those for
// all signals, whose endpoint gets the signal's path.
func readEndpoint(lookup func(string) string, signal, path string) (endpoint, error) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	either := func(suffix string) (name, value string) {
		if value := lookup(prefix + signal + "_" + suffix); value != "" {
			return prefix + signal + "_" + suffix, value
		}
		return prefix + suffix, lookup(prefix + suffix)
	}
	name, target := either("ENDPOINT")
	if target == "" || strings.EqualFold(lookup("OTEL_"+signal+"_EXPORTER"), "none") {
		return endpoint{}, nil
	}
	parsed, err := url.Parse(target)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return endpoint{}, fmt.Errorf("%s is not a URL like http://HOST:4318", name)
	}
	if protocol, value := either("PROTOCOL"); value != "" && value != "http/protobuf" {
		return endpoint{}, fmt.Errorf("%s is %q: tieout exports by http/protobuf alone, usually to port 4318", protocol, value)
	}
	if name == prefix+"ENDPOINT" {
		parsed = parsed.JoinPath(path)
	}
	name, pairs := either("HEADERS")
	headers, err := parsePairs(name, pairs)
	return endpoint{url: parsed.String(), headers: headers}, err
}

// parsePairs reads key=value pairs between commas, percent-encoded. Its errors
// don't show the text: headers hold credentials.
func parsePairs(variable, text string) (map[string]string, error) {
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			return nil, fmt.Errorf("%s is not made of KEY=VALUE pairs between commas", variable)
		}
		pairs[key] = value
	}
	return pairs, nil
}

// resource says who reports.
func (e environment) resource(version, instance string) (*resource.Resource, error) {
	attributes := make([]attribute.KeyValue, 0, len(e.attributes)+3)
	for key, value := range e.attributes {
		attributes = append(attributes, attribute.String(key, value))
	}
	attributes = append(attributes, semconv.ServiceName(e.service), semconv.ServiceVersion(version))
	if instance != "" {
		attributes = append(attributes, semconv.ServiceInstanceID(instance))
	}
	return resource.Merge(resource.Default(), resource.NewWithAttributes(semconv.SchemaURL, attributes...))
}

// A loggedSpanExporter logs what it couldn't export. The SDK would hand the
// error to a handler that is global to the process.
type loggedSpanExporter struct {
	sdktrace.SpanExporter
	logger *slog.Logger
}

func newSpanExporter(ctx context.Context, to endpoint, logger *slog.Logger) (sdktrace.SpanExporter, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(to.url), otlptracehttp.WithHeaders(to.headers))
	if err != nil {
		return nil, err
	}
	return &loggedSpanExporter{exporter, logger}, nil
}

// ExportSpans implements the SDK's SpanExporter.
func (e *loggedSpanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.logger.WarnContext(ctx, "spans were not exported", "spans", len(spans), "error", err)
	}
	return nil
}

// A loggedMetricExporter logs what it couldn't export, for the same reason.
type loggedMetricExporter struct {
	sdkmetric.Exporter
	logger *slog.Logger
}

func newMetricExporter(ctx context.Context, to endpoint, logger *slog.Logger) (sdkmetric.Exporter, error) {
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(to.url), otlpmetrichttp.WithHeaders(to.headers))
	if err != nil {
		return nil, err
	}
	return &loggedMetricExporter{exporter, logger}, nil
}

// Export implements the SDK's Exporter.
func (e *loggedMetricExporter) Export(ctx context.Context, metrics *metricdata.ResourceMetrics) error {
	if err := e.Exporter.Export(ctx, metrics); err != nil {
		e.logger.WarnContext(ctx, "metrics were not exported", "error", err)
	}
	return nil
}
