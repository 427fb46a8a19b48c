package traces

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/tracecontext"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
)

// tracerName names the library that makes the spans.
const tracerName = "github.com/musterhq/muster"

// abortTime is how long to wait for a request that was canceled.
const abortTime = time.Second

// Options holds what a Sink needs besides the OTEL_ variables.
type Options struct {
	Warn    func(error) // prints a warning; it is called from any goroutine, and gets no secret
	Console io.Writer   // where OTEL_TRACES_EXPORTER=console prints; nil: standard output
}

// New returns a Sink by the OTEL_ variables of this process, or nil if they ask for no traces. The
// caller must call Close. Errors are *failure.Failure.
func New(ctx context.Context, o Options) (*Sink, error) {
	send, err := newSender(ctx, o)
	if send == nil || err != nil {
		return nil, err
	}
	run, _ := tracecontext.Handed(os.Getenv) // the launcher has warned about a bad TRACEPARENT
	return &Sink{run: run, send: send}, nil
}

// newSender returns a sender by the OTEL_ variables of this process, or nil if they ask for no traces. The
// caller must close it.
func newSender(ctx context.Context, o Options) (*sender, error) {
	if !tracecontext.On(os.Getenv) {
		return nil, nil
	}
	r := &reporter{warn: o.Warn, secrets: secretsOf(os.Environ())}
	r.hear()
	send := &sender{report: r}
	for name := range strings.SplitSeq(cmp.Or(os.Getenv("OTEL_TRACES_EXPORTER"), "otlp"), ",") {
		one, err := newExporter(ctx, strings.TrimSpace(name), o)
		if err != nil {
			return nil, err
		}
		send.exporters = append(send.exporters, &exporter{SpanExporter: one, report: r, down: make(chan struct{})})
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithIDGenerator(ids{}), sdktrace.WithResource(resourceOf(ctx))}
	for _, e := range send.exporters {
		options = append(options, sdktrace.WithBatcher(e)) // which starts a goroutine
	}
	send.provider = sdktrace.NewTracerProvider(options...)
	send.tracer = send.provider.Tracer(tracerName, trace.WithInstrumentationVersion(build.Version()))
	return send, nil
}

// newExporter returns the exporter with a name of OTEL_TRACES_EXPORTER. It connects to nothing yet.
func newExporter(ctx context.Context, name string, o Options) (sdktrace.SpanExporter, error) {
	switch name {
	case "console":
		return stdouttrace.New(stdouttrace.WithWriter(cmp.Or[io.Writer](o.Console, os.Stdout)))
	case "otlp":
	default:
		return nil, failure.Usage("want otlp, console or none", "OTEL_TRACES_EXPORTER=%s is not supported", name)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if at := os.Getenv(name); at != "" && !strings.Contains(at, "://") { // the SDK would send to nowhere
			return nil, failure.Usage("want a URL, such as http://collector:4318 or, for grpc, http://collector:4317", "%s=%s has no scheme", name, strings.TrimPrefix(masked("x://"+at), "x://"))
		}
	}
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); protocol {
	case "grpc":
		one, err := otlptracegrpc.New(ctx)
		return one, wrongSettings(err)
	case "http/protobuf":
		one, err := otlptracehttp.New(ctx)
		return one, wrongSettings(err)
	default:
		return nil, failure.Usage("want grpc or http/protobuf", "OTEL_EXPORTER_OTLP_PROTOCOL=%s is not supported", protocol)
	}
}

func wrongSettings(err error) error {
	if err == nil {
		return nil
	}
	return failure.Usage("docs/guides/traces.md has the variables", "set up traces: %w", err)
}

// resourceOf describes this launcher. OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME come before what we
// know ourselves.
func resourceOf(ctx context.Context) *resource.Resource {
	known := []attribute.KeyValue{attribute.String("service.name", "muster"), attribute.String("service.version", build.Version())}
	for _, one := range [...]struct{ key, value string }{
		{"muster.job.name", os.Getenv(names.EnvJob)},
		{"k8s.namespace.name", os.Getenv(names.EnvNamespace)},
		{"k8s.pod.name", os.Getenv(names.EnvPodName)},
		{"k8s.pod.uid", os.Getenv(names.EnvPodUID)},
		{"k8s.pod.ip", os.Getenv(names.EnvPodIP)},
	} {
		if one.value != "" {
			known = append(known, attribute.String(one.key, one.value))
		}
	}
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(known...), resource.WithFromEnv())
	if err != nil {
		otel.Handle(err) // a bad OTEL_RESOURCE_ATTRIBUTES; the rest counts
	}
	return r
}

// sender sends spans.
type sender struct {
	provider  *sdktrace.TracerProvider
	tracer    trace.Tracer
	exporters []*exporter
	report    *reporter
	made      int64 // spans; the Sink's lock guards it
}

// span hands a span to the SDK, which sends it later, or drops it if its queue is full.
func (s *sender) span(one span) {
	if one.record(s.tracer) {
		s.made++
	}
}

// close sends what is left until ctx ends, and then waits for the SDK's goroutines.
func (s *sender) close(ctx context.Context) error {
	err := s.provider.Shutdown(ctx)
	if err != nil {
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		for _, e := range s.exporters {
			e.abort(canceled)
		}
	}
	all := s.made * int64(len(s.exporters))
	lost := all
	for _, e := range s.exporters {
		lost -= e.sent.Load()
	}
	switch {
	case lost > 0:
		return fmt.Errorf("%d of %d spans were not sent: %w", lost, all, s.report.cause(err))
	case err != nil:
		return fmt.Errorf("send spans: %w", s.report.cause(err))
	}
	return nil
}

// exporter counts what is sent, and reports an outage once.
type exporter struct {
	sdktrace.SpanExporter
	report  *reporter
	sent    atomic.Int64
	failing atomic.Bool
	down    chan struct{} // closed when the SDK has shut it down
	once    atomic.Bool
}

// ExportSpans implements sdktrace.SpanExporter. Its error is reported here and not by the SDK.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.report.failed(err, !e.failing.Swap(true))
		return nil
	}
	e.sent.Add(int64(len(spans)))
	e.failing.Store(false)
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(ctx context.Context) error {
	if !e.once.Swap(true) {
		defer close(e.down)
	}
	return e.SpanExporter.Shutdown(ctx)
}

// abort cancels the request that is under way, and waits until the SDK has given up.
func (e *exporter) abort(canceled context.Context) {
	_ = e.SpanExporter.Shutdown(canceled) // it cannot end well
	over := time.NewTimer(abortTime)
	defer over.Stop()
	select {
	case <-e.down:
	case <-over.C:
	}
}
