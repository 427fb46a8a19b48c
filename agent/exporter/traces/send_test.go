package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // for OTEL_EXPORTER_OTLP_COMPRESSION
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// receiver is a collector that keeps what it gets.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource map[string]string
	headers  map[string]string
	encoding string
}

func (r *receiver) take(request *collector.ExportTraceServiceRequest, headers map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers, r.resource = headers, map[string]string{}
	for _, one := range request.ResourceSpans {
		for _, kv := range one.Resource.Attributes {
			r.resource[kv.Key] = kv.Value.GetStringValue()
		}
		for _, scope := range one.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
}

// Export implements TraceService over gRPC.
func (r *receiver) Export(ctx context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	headers := map[string]string{}
	from, _ := metadata.FromIncomingContext(ctx)
	for key, values := range from {
		headers[key] = strings.Join(values, ",")
	}
	r.take(request, headers)
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP implements OTLP over HTTP.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err == nil && request.Header.Get("Content-Encoding") == "gzip" {
		r.encoding = "gzip"
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	var all collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &all)
	}
	if err != nil || request.URL.Path != "/v1/traces" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	headers := map[string]string{}
	for key := range request.Header {
		headers[strings.ToLower(key)] = request.Header.Get(key)
	}
	r.take(&all, headers)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// serveGRPC serves the receiver, and returns its URL.
func (r *receiver) serveGRPC(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); wg.Wait() })
	return "http://" + listener.Addr().String()
}

// shortRun is a run of one worker.
func shortRun() []event.Event {
	failed := at(5, event.AttemptEnded, "")
	failed.Count, failed.Detail = 3, "rank 0 on w-0 exited with 3"
	over := at(6, event.RunEnded, "")
	over.Count, over.Detail = 3, failed.Detail
	return []event.Event{at(0, event.RunStarted, ""), at(0, event.PodCreated, "w-0"), at(1, event.ContainerStarted, "w-0"), at(2, event.Linked, "w-0"),
		at(2, event.AllLinked, ""), at(3, event.CommandStarted, "w-0"), failed, over}
}

// send sends a run by the variables of this process, and returns the warnings and the error of Close.
func send(t *testing.T, limit time.Duration) (warnings []string, err error) {
	t.Helper()
	var mu sync.Mutex
	sink, err := New(t.Context(), Options{Warn: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, err.Error())
	}})
	require.NoError(t, err)
	require.NotNil(t, sink)
	for _, e := range shortRun() {
		sink.Take(e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err = sink.Close(ctx)
	mu.Lock()
	defer mu.Unlock()
	return warnings, err
}

// check checks that the whole run has arrived, with what the variables say.
func (r *receiver) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := map[string]*tracepb.Span{}
	for _, s := range r.spans {
		spans[s.Name] = s
		require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", hexOf(s.TraceId))
	}
	require.Len(t, spans, 7)
	require.Equal(t, "00f067aa0ba902b7", hexOf(spans["run"].ParentSpanId))
	require.Equal(t, spans["run"].SpanId, spans["attempt"].ParentSpanId)
	require.Equal(t, spans["attempt"].SpanId, spans["running"].ParentSpanId)
	require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, spans["attempt"].Status.Code)
	require.Equal(t, "rank 0 on w-0 exited with 3", spans["attempt"].Status.Message)
	require.Equal(t, uint64(noon.UnixNano()), spans["run"].StartTimeUnixNano)
	require.Equal(t, uint64(noon.Add(6*time.Second).UnixNano()), spans["run"].EndTimeUnixNano)
	for key, want := range map[string]string{"service.name": "train", "k8s.pod.name": "bert-launcher", "k8s.namespace.name": "team", "muster.job.name": "bert", "team": "vision"} {
		require.Equal(t, want, r.resource[key], key)
	}
	require.Equal(t, "secret value", r.headers["x-key"])
}

func hexOf(id []byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, one := range id {
		b.WriteByte(digits[one>>4])
		b.WriteByte(digits[one&15])
	}
	return b.String()
}

// variables sets what every test of sending needs.
func variables(t *testing.T, more map[string]string) {
	for name, value := range map[string]string{"TRACEPARENT": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=secret%20value",
		"OTEL_SERVICE_NAME": "train", "OTEL_RESOURCE_ATTRIBUTES": "team=vision,service.name=other",
		names.EnvPodName: "bert-launcher", names.EnvNamespace: "team", names.EnvJob: "bert"} {
		t.Setenv(name, value)
	}
	for name, value := range more {
		t.Setenv(name, value)
	}
}

func TestGRPC(t *testing.T) {
	for _, compression := range []string{"", "gzip"} {
		r := &receiver{}
		variables(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.serveGRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_COMPRESSION": compression})
		warnings, err := send(t, 10*time.Second)
		require.NoError(t, err)
		require.Empty(t, warnings)
		r.check(t)
	}
}

func TestHTTP(t *testing.T) {
	for name, more := range map[string]map[string]string{
		"by default":                  {},
		"with the protocol":           {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
		"compressed, in small pieces": {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "2"},
		"more than one exporter":      {"OTEL_TRACES_EXPORTER": "otlp"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &receiver{}
			server := httptest.NewServer(r)
			defer server.Close()
			variables(t, more)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
			warnings, err := send(t, 10*time.Second)
			require.NoError(t, err)
			require.Empty(t, warnings)
			r.check(t)
			require.Equal(t, more["OTEL_EXPORTER_OTLP_COMPRESSION"], r.encoding)
		})
	}
}

// TestTLS checks a collector whose certificate is known only by the variable.
func TestTLS(t *testing.T) {
	r := &receiver{}
	server := httptest.NewTLSServer(r)
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	variables(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": server.URL + "/v1/traces", "OTEL_EXPORTER_OTLP_CERTIFICATE": ca})
	_, err := send(t, 10*time.Second)
	require.NoError(t, err)
	r.check(t)
}

// TestADeadCollectorDelaysTheEndByItsLimit checks that Close keeps its limit, leaves nothing behind, and
// that no warning has a secret.
func TestADeadCollectorDelaysTheEndByItsLimit(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections, and never answers
	require.NoError(t, err)
	defer silent.Close()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for _, endpoint := range []string{"http://127.0.0.1:1", "http://" + silent.Addr().String()} {
			variables(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=hunter22, hunter33"})
			began := time.Now()
			warnings, err := send(t, 300*time.Millisecond)
			require.ErrorContains(t, err, "7 of 7 spans were not sent: ", "%s %s", protocol, endpoint)
			require.Less(t, time.Since(began), 300*time.Millisecond+abortTime+time.Second)
			require.NotEmpty(t, warnings)
			for _, one := range append(warnings, err.Error()) {
				require.NotContains(t, one, "hunter")
			}
		}
	}
}

// TestARefusalIsWarnedOfOnce checks a collector that refuses everything, and echoes the secret.
func TestARefusalIsWarnedOfOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad key: "+r.Header.Get("x-key"), http.StatusUnauthorized)
	}))
	defer server.Close()
	variables(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"})
	warnings, err := send(t, 10*time.Second)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "cannot send spans: ")
	require.Contains(t, warnings[0], "401 Unauthorized (body: bad key: ***)")
	require.ErrorContains(t, err, "7 of 7 spans were not sent: ")
	require.NotContains(t, err.Error(), "secret value")
}

// TestTakeWaitsForNoNetwork checks that a collector that never answers stops nothing, and that what does
// not fit into the queue is counted.
func TestTakeWaitsForNoNetwork(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	variables(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + silent.Addr().String(), "OTEL_BSP_MAX_QUEUE_SIZE": "4", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "2"})
	sink, err := New(t.Context(), Options{Warn: func(error) {}})
	require.NoError(t, err)
	const attempts = 1000
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for i := range attempts {
			for _, kind := range []event.Kind{event.CommandStarted, event.AttemptEnded} {
				e := at(float64(2*i), kind, "")
				e.Attempt = i
				sink.Take(e)
			}
		}
	}()
	select {
	case <-taken:
	case <-time.After(30 * time.Second):
		require.Fail(t, "Take waits for the collector")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, sink.Close(ctx), "1001 of 1001 spans were not sent: ")
}

func TestNoTracesAreAskedFor(t *testing.T) {
	for _, more := range []map[string]string{{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}} {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"} {
			t.Setenv(name, more[name])
		}
		sink, err := New(t.Context(), Options{})
		require.NoError(t, err)
		require.Nil(t, sink)
		sink.Take(at(0, event.RunStarted, ""))
		require.NoError(t, sink.Close(t.Context()))
	}
}

func TestMistakes(t *testing.T) {
	for want, more := range map[string]map[string]string{
		"OTEL_TRACES_EXPORTER=zipkin is not supported":                              {"OTEL_TRACES_EXPORTER": "zipkin"},
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/json is not supported":                    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317 has no scheme":                  {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector has no scheme":                {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "collector"},
		"set up traces: insecure HTTP endpoint cannot use TLS client configuration": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_CERTIFICATE": certificate(t)},
	} {
		t.Run(want, func(t *testing.T) {
			for name, value := range more {
				t.Setenv(name, value)
			}
			sink, err := New(t.Context(), Options{})
			require.EqualError(t, err, want)
			require.Nil(t, sink)
			var f *failure.Failure
			require.ErrorAs(t, err, &f)
			require.NotEmpty(t, f.Hint())
		})
	}
}

// certificate returns the path of some certificate.
func certificate(t *testing.T) string {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	path := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return path
}

func TestConsole(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	var out bytes.Buffer
	sink, err := New(t.Context(), Options{Console: &out})
	require.NoError(t, err)
	for _, e := range shortRun() {
		sink.Take(e)
	}
	require.NoError(t, sink.Close(t.Context()))
	require.Equal(t, 7, strings.Count(out.String(), `"SpanKind"`))
}

// TestWarningsHaveNoSecrets checks every form in which the SDK may repeat a header or a password.
func TestWarningsHaveNoSecrets(t *testing.T) {
	r := &reporter{secrets: secretsOf([]string{"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20abcd1234,x=%zz9876,bare-secret", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=b=c-d-e", "HEADERS=public"})}
	for text, want := range map[string]string{ //nolint:gosec // G101: these secrets are made up
		"bad header authorization=Bearer%20abcd1234": "bad header authorization=***",
		"bad header: Bearer abcd1234":                "bad header: ***",
		"bad token abcd1234":                         "bad token ***",
		"escape %zz9876":                             "escape ***",
		"missing = in bare-secret":                   "missing = in ***",
		"a is b=c-d-e":                               "a is ***",
		"public\n  knowledge":                        "public knowledge",
		"Post https://user:pass@host:4318/v1/traces": "Post https://***@host:4318/v1/traces",
		"two http://a@b c://d:e@f?g=@h":              "two http://***@b c://***@f?g=@h",
		"no user http://host/@x and a://":            "no user http://host/@x and a://",
	} {
		require.Equal(t, want, r.clean(errors.New(text)).Error())
	}
}
