package traces

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/tracecontext"
)

// TestRelaySendsTheSpansOfTheController checks that a collector gets the spans with their ids, and that lines
// which are no spans are left out.
func TestRelaySendsTheSpansOfTheController(t *testing.T) {
	r := &receiver{}
	server := httptest.NewServer(r)
	defer server.Close()
	on := func(name string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}[name]
	}
	run := tracecontext.Derived(on, "u-1", tracecontext.Context{})
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pods := tracecontext.Span{Name: "pods", Parent: run.Root.String(), Self: run.Root.Child("pods 1").String(), From: from, To: from.Add(time.Minute), Failed: "Failed: exit code 3",
		Texts: map[string]string{"muster.job.name": "bert"}, Numbers: map[string]int64{"muster.attempt": 1}, Marks: []tracecontext.Mark{{At: from, Name: "Gang", Detail: "1/3"}}}
	job := tracecontext.Span{Name: "job", Self: run.Root.String(), From: from, To: from.Add(time.Hour)}
	stranger := tracecontext.Span{Name: "stranger", Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Self: run.Root.String()}
	var in strings.Builder
	for _, s := range []tracecontext.Span{pods, stranger, {Name: "nowhere"}, job} {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		in.WriteString(string(text) + "\nno span\n")
	}
	require.NoError(t, Relay(t.Context(), strings.NewReader(in.String()), time.Minute, Options{}), "without the variables nothing is sent")
	require.Empty(t, r.spans)

	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	require.NoError(t, Relay(t.Context(), strings.NewReader(in.String()), time.Minute, Options{}))
	require.Len(t, r.spans, 2)
	got := r.spans[0]
	require.Equal(t, "pods", got.Name)
	require.Equal(t, run.Root.Trace[:], got.TraceId)
	require.Equal(t, run.Root.Span[:], got.ParentSpanId)
	require.EqualValues(t, from.UnixNano(), got.StartTimeUnixNano)
	require.Equal(t, "Failed: exit code 3", got.Status.Message)
	require.Equal(t, "Gang", got.Events[0].Name)
	require.Len(t, got.Attributes, 2)
	require.Empty(t, r.spans[1].ParentSpanId)
}
