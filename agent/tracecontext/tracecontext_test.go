package tracecontext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + trace + "-00f067aa0ba902b7-01"
)

// from returns a getenv for K=V, separated by blanks.
func from(environ string) func(string) string {
	return func(name string) string {
		for _, kv := range strings.Fields(environ) {
			if key, value, _ := strings.Cut(kv, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		parent:                                         parent,
		"00-" + trace + "-00f067aa0ba902b7-00":         "00-" + trace + "-00f067aa0ba902b7-00",
		"00-" + trace + "-00f067aa0ba902b7-ff":         parent, // unknown flags are not passed on
		"cc-" + trace + "-00f067aa0ba902b7-01":         parent, // a later version
		"cc-" + trace + "-00f067aa0ba902b7-01-what-is": parent,
	} {
		c, err := Parse(text, "")
		require.NoError(t, err, text)
		require.Equal(t, want, c.String())
		require.True(t, c.Valid())
	}
	for _, bad := range []string{
		"", "x", "00", strings.ToUpper(parent), parent + "-00", parent[:54], parent + "0",
		"ff-" + trace + "-00f067aa0ba902b7-01", "0-" + trace + "-00f067aa0ba902b7-01", "00-" + trace + "-00f067aa0ba902b7-0g",
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "00-" + trace + "-0000000000000000-01", "00-" + trace[1:] + "-00f067aa0ba902b7-01",
		" " + parent, parent + " ", strings.Repeat("0", 1<<20),
	} {
		c, err := Parse(bad, "a=b")
		require.Error(t, err, "%.80q", bad)
		require.Equal(t, Context{}, c)
	}
}

func TestStateIsPassedOnOrLeftOut(t *testing.T) {
	for state, want := range map[string]string{
		"": "", "a=b": "a=b", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
		"a": "", "a=": "", "=b": "", "a=b,": "", "a=b\nX=1": "", "a=é": "", "a=" + strings.Repeat("b", mostState): "",
	} {
		c, err := Parse(parent, state)
		require.NoError(t, err)
		require.Equal(t, want, c.State, "%.80q", state)
	}
}

func TestOn(t *testing.T) {
	for environ, want := range map[string]bool{
		"":                                     false,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c": true,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c":                        true,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=true":        false,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=TRUE":        false,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=1":           true, // the specification knows only true
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_EXPORTER=none":     false,
		"OTEL_TRACES_EXPORTER=otlp":                                          true,
		"OTEL_TRACES_EXPORTER=console":                                       true,
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://c OTEL_SERVICE_NAME=any": false,
	} {
		require.Equal(t, want, On(from(environ)), environ)
	}
}

func TestStart(t *testing.T) {
	const on = " OTEL_EXPORTER_OTLP_ENDPOINT=http://c"

	r, err := Start(from(""))
	require.NoError(t, err)
	require.Equal(t, Run{}, r)
	require.False(t, r.Attempt(0).Valid())
	require.Empty(t, r.Attempt(0).Environ())

	// Without traces of our own, ranks get the caller's context.
	r, err = Start(from("TRACEPARENT=" + parent + " TRACESTATE=a=b"))
	require.NoError(t, err)
	require.Equal(t, []string{"TRACEPARENT=" + parent, "TRACESTATE=a=b"}, r.Attempt(3).Environ())

	// With them, each attempt has a span of its own in the caller's trace.
	r, err = Start(from("TRACEPARENT=" + parent + " TRACESTATE=a=b" + on))
	require.NoError(t, err)
	require.Equal(t, parent, r.Parent.String())
	require.Equal(t, r.Parent.Trace, r.Root.Trace)
	require.NotEqual(t, r.Parent.Span, r.Root.Span)
	first, second := r.Attempt(0), r.Attempt(1)
	require.Equal(t, first, r.Attempt(0))
	require.NotEqual(t, first.Span, second.Span)
	require.NotEqual(t, first.Span, r.Root.Span)
	require.Equal(t, "a=b", second.State)
	require.True(t, second.Sampled())

	// Without a parent there is a new trace.
	a, err := Start(from(on))
	require.NoError(t, err)
	b, err := Start(from(on))
	require.NoError(t, err)
	require.False(t, a.Parent.Valid())
	require.True(t, a.Root.Valid())
	require.True(t, a.Root.Sampled())
	require.NotEqual(t, a.Root.Trace, b.Root.Trace)

	// A bad parent is ignored, and named.
	r, err = Start(from("TRACEPARENT=00-12-34-01" + on))
	require.EqualError(t, err, `TRACEPARENT="00-12-34-01" is ignored: part 2 is not 32 lower-case hexadecimal digits`)
	require.True(t, r.Root.Valid())
	require.False(t, r.Parent.Valid())

	// Other propagators than W3C's leave the variable alone.
	for propagators, want := range map[string]bool{"tracecontext,baggage": true, "b3,tracecontext": true, "b3": false, "none": false} {
		r, err = Start(from("TRACEPARENT=" + parent + " OTEL_PROPAGATORS=" + propagators))
		require.NoError(t, err)
		require.Equal(t, want, r.Parent.Valid(), propagators)
	}
}

// TestTheExporterFindsTheRun checks that the exporter has the same spans as the launcher.
func TestTheExporterFindsTheRun(t *testing.T) {
	const on = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c"
	for _, environ := range []string{on, on + " TRACEPARENT=" + parent + " TRACESTATE=a=b", on + " TRACEPARENT=bad", on + " OTEL_TRACES_SAMPLER=always_off",
		on + " MUSTER_TRACEPARENT=" + parent} {
		r, _ := Start(from(environ))
		handed := r.Exporter(strings.Fields(environ))
		back, err := Handed(from(strings.Join(handed, " ")))
		require.NoError(t, err)
		require.Equal(t, r, back, environ)
		require.Equal(t, r.Attempt(7), back.Attempt(7))
		require.Contains(t, handed, on)
	}
	// Without a launcher, it begins a trace itself.
	back, err := Handed(from(on + " TRACEPARENT=" + parent))
	require.NoError(t, err)
	require.Equal(t, parent, back.Parent.String())
	require.True(t, back.Root.Valid())
}

func TestSampled(t *testing.T) {
	unsampled := "TRACEPARENT=" + strings.TrimSuffix(parent, "01") + "00 "
	for _, row := range []struct {
		environ string
		want    bool
	}{
		{"", true},
		{unsampled, false},
		{"OTEL_TRACES_SAMPLER=always_off", false},
		{unsampled + "OTEL_TRACES_SAMPLER=always_on", true},
		{"OTEL_TRACES_SAMPLER=parentbased_always_off", false},
		{"TRACEPARENT=" + parent + " OTEL_TRACES_SAMPLER=parentbased_always_off", true},
		{"OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=0", false},
		{"OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=1", true},
		{"OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=half", true},
		{"OTEL_TRACES_SAMPLER=jaeger_remote", true},
	} {
		r, err := Start(from(row.environ + " OTEL_EXPORTER_OTLP_ENDPOINT=http://c"))
		require.NoError(t, err)
		require.Equal(t, row.want, r.Root.Sampled(), row.environ)
		require.Equal(t, row.want, r.Attempt(0).Sampled(), row.environ)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(parent, "a=b")
	f.Fuzz(func(t *testing.T, text, state string) {
		c, err := Parse(text, state)
		if err != nil {
			return
		}
		again, err := Parse(c.String(), c.State)
		if err != nil || again != c {
			t.Fatalf("%q %q: %v, then %v: %v", text, state, c, again, err)
		}
		for _, kv := range c.Environ() {
			if strings.ContainsAny(kv, "\n\x00") {
				t.Fatalf("%q", kv)
			}
		}
	})
}

func TestDerivedFollowsFromTheSeed(t *testing.T) {
	on := from("OTEL_EXPORTER_OTLP_ENDPOINT=http://c")
	a, b := Derived(on, "u-1", Context{}), Derived(on, "u-2", Context{})
	require.Equal(t, a, Derived(on, "u-1", Context{}))
	require.True(t, a.Root.Valid())
	require.True(t, a.Root.Sampled())
	require.NotEqual(t, a.Root.Trace, b.Root.Trace)
	require.NotEqual(t, a.Root.Span, b.Root.Span)
	caller, err := Parse(parent, "a=b")
	require.NoError(t, err)
	c := Derived(on, "u-1", caller)
	require.Equal(t, caller.Trace, c.Root.Trace)
	require.Equal(t, a.Root.Span, c.Root.Span)
	require.Equal(t, "a=b", c.Root.State)
	require.False(t, Derived(from(""), "u-1", caller).Root.Valid(), "without a collector no ids are made up")
	require.False(t, Derived(from("OTEL_TRACES_EXPORTER=otlp OTEL_TRACES_SAMPLER=always_off"), "u-1", Context{}).Root.Sampled())
}
