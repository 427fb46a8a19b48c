package traces

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/tracecontext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns an event at a number of seconds after noon.
func at(seconds float64, kind event.Kind, worker string) event.Event {
	return event.Event{Time: noon.Add(time.Duration(seconds * float64(time.Second))), Kind: kind, Worker: worker, Rank: event.NoRank}
}

// traced returns a place in a trace with a parent.
func traced(t *testing.T) tracecontext.Run {
	parent, err := tracecontext.Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1")
	require.NoError(t, err)
	return tracecontext.Run{Parent: parent, Root: parent.Child("run")}
}

// inMemory returns a Sink whose spans stay here.
func inMemory(t *testing.T, run tracecontext.Run) (*Sink, *tracetest.InMemoryExporter) {
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithIDGenerator(ids{}))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return &Sink{run: run, send: &sender{provider: provider, tracer: provider.Tracer(tracerName), report: &reporter{}}}, kept
}

// tree returns spans as text: a line for each, below its parent, by time.
func tree(spans tracetest.SpanStubs, run tracecontext.Run) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.Name, b.Name), cmp.Compare(attr(a, attrWorker), attr(b, attrWorker)))
	})
	if len(spans) == 0 {
		return ""
	}
	var b strings.Builder
	var below func(parent trace.SpanID, indent string)
	first := spans[0].StartTime
	below = func(parent trace.SpanID, indent string) {
		for _, s := range spans {
			if s.Parent.SpanID() != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s %.3f-%.3f", indent, s.Name, s.StartTime.Sub(first).Seconds(), s.EndTime.Sub(first).Seconds())
			for _, one := range s.Attributes {
				fmt.Fprintf(&b, " %s=%s", one.Key, one.Value.String())
			}
			if s.Status.Code == codes.Error {
				fmt.Fprintf(&b, " ERROR %s", s.Status.Description)
			}
			b.WriteString("\n")
			for _, e := range s.Events {
				fmt.Fprintf(&b, "%s  * %s %.3f", indent, e.Name, e.Time.Sub(first).Seconds())
				for _, one := range e.Attributes {
					fmt.Fprintf(&b, " %s=%s", one.Key, one.Value.String())
				}
				b.WriteString("\n")
			}
			below(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	below(run.Parent.Span, "")
	return b.String()
}

func attr(s tracetest.SpanStub, key string) string {
	for _, one := range s.Attributes {
		if string(one.Key) == key {
			return one.Value.String()
		}
	}
	return ""
}

// TestSpansOfARun compares the spans of a recorded run of fake workers: a link is cut, a worker is killed,
// a spare takes its place, and the second attempt fails.
func TestSpansOfARun(t *testing.T) {
	f, err := os.Open("testdata/run.jsonl")
	require.NoError(t, err)
	defer f.Close()
	events, skipped, err := event.Read(f)
	require.NoError(t, err)
	require.Zero(t, skipped)
	run := traced(t)
	sink, kept := inMemory(t, run)
	for _, e := range events {
		sink.Take(e)
	}
	spans := kept.GetSpans()
	require.NoError(t, sink.Close(t.Context()))
	require.Len(t, kept.GetSpans(), 0, "an InMemoryExporter forgets its spans at the end")

	got := tree(spans, run)
	require.Equal(t, len(spans), strings.Count(got, "\n")-strings.Count(got, "* "), "each span is below its parent")
	const golden = "testdata/run.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	for _, s := range spans {
		require.Equal(t, trace.TraceID(run.Root.Trace), s.SpanContext.TraceID())
		require.Equal(t, "vendor=1", s.SpanContext.TraceState().String())
	}
}

// TestRanksAreBelowTheirAttempt checks that the launcher and the Sink agree about the span of an attempt.
func TestRanksAreBelowTheirAttempt(t *testing.T) {
	run := traced(t)
	sink, kept := inMemory(t, run)
	for _, e := range []event.Event{at(0, event.RunStarted, ""), at(1, event.CommandStarted, "w-0"), at(2, event.AttemptEnded, "")} {
		sink.Take(e)
	}
	spans := kept.GetSpans()
	i := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == attemptSpan })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, trace.SpanID(run.Attempt(0).Span), spans[i].SpanContext.SpanID())
	require.Equal(t, trace.SpanID(run.Root.Span), spans[i].Parent.SpanID())
	require.Equal(t, codes.Unset, spans[i].Status.Code)
}

// TestSpansAreSentWhenTheyEnd checks that a run need not end for its first phases to be sent.
func TestSpansAreSentWhenTheyEnd(t *testing.T) {
	sink, kept := inMemory(t, traced(t))
	for _, e := range []event.Event{at(0, event.RunStarted, ""), at(0, event.PodCreated, "w-0"), at(10, event.PodScheduled, "w-0"), at(12, event.ContainerStarted, "w-0"),
		at(13, event.Linked, "w-0"), at(13, event.AllLinked, ""), at(14, event.CommandStarted, "w-0"), at(15, event.FirstLine, "w-0")} {
		sink.Take(e)
	}
	require.Equal(t, []string{"queued", "starting", "linking", "waiting"}, namesOf(kept.GetSpans()))
	require.NoError(t, sink.Close(t.Context()))
}

func namesOf(spans tracetest.SpanStubs) (names []string) {
	for _, s := range spans {
		names = append(names, s.Name)
	}
	return names
}

// TestARunWithoutAnEnd checks that Close ends what is open, as after the launcher was killed.
func TestARunWithoutAnEnd(t *testing.T) {
	kept := &keeper{}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithIDGenerator(ids{}))
	sink := &Sink{run: traced(t), send: &sender{provider: provider, tracer: provider.Tracer(tracerName), report: &reporter{}}}
	for _, e := range []event.Event{at(0, event.RunStarted, ""), at(1, event.CommandStarted, "w-0"), at(5, event.Saved, "")} {
		sink.Take(e)
	}
	require.NoError(t, sink.Close(t.Context()))
	require.NoError(t, sink.Close(t.Context()))
	sink.Take(at(6, event.RunEnded, ""))
	require.Equal(t, []string{"running", "attempt", "run"}, kept.names)
	require.Equal(t, []string{"", unfinished, unfinished}, kept.failed)
}

// keeper keeps names and states of spans beyond the end.
type keeper struct{ names, failed []string }

func (k *keeper) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		k.names = append(k.names, s.Name())
		k.failed = append(k.failed, s.Status().Description)
	}
	return nil
}

func (k *keeper) Shutdown(context.Context) error { return nil }

// TestACrowdHasFewSpans runs 1,000 workers. The slowest are in the trace.
func TestACrowdHasFewSpans(t *testing.T) {
	const workers, attempts = 1000, 3
	sink, kept := inMemory(t, traced(t))
	started := at(0, event.RunStarted, "")
	started.Count = workers
	sink.Take(started)
	name := func(i int) string { return "w-" + strconv.Itoa(i) }
	for i := range workers {
		sink.Take(at(0, event.PodCreated, name(i)))
		slow := 0.0
		if i == 777 {
			slow = 60
		}
		sink.Take(at(1+float64(i)/1e4+slow, event.PodScheduled, name(i)))
	}
	for i := range workers {
		sink.Take(at(70, event.ContainerStarted, name(i)))
		sink.Take(at(71, event.Linked, name(i)))
	}
	sink.Take(at(72, event.AllLinked, ""))
	for attempt := range attempts {
		base := 100 + 100*float64(attempt)
		for i := range workers {
			e := at(base, event.CommandStarted, name(i))
			e.Attempt = attempt
			sink.Take(e)
			e = at(base+1, event.FirstLine, name(i))
			e.Attempt, e.Rank = attempt, i
			sink.Take(e)
		}
		for range 1000 {
			sink.Take(at(base+50, event.LinkLost, name(500)))
			sink.Take(at(base+50, event.LinkBack, name(500)))
		}
		e := at(base+90, event.AttemptEnded, "")
		e.Attempt, e.Count = attempt, 1
		sink.Take(e)
		e = at(base+90, event.Restart, "")
		e.Attempt = attempt + 1
		sink.Take(e)
	}
	sink.Take(at(900, event.RunEnded, ""))
	spans := kept.GetSpans()
	require.LessOrEqual(t, len(spans), mostShown*(4+attempts*2+1)+mostSlow*4+2*attempts+1)
	slow := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == "queued" && attr(s, attrWorker) == "w-777" })
	require.GreaterOrEqual(t, slow, 0, "the slowest worker is in the trace")
	require.Equal(t, 61*time.Second, spans[slow].EndTime.Sub(spans[slow].StartTime).Round(time.Second))
	for _, s := range spans {
		require.LessOrEqual(t, len(s.Events), mostMarks)
		if s.Name == runSpan {
			require.Equal(t, "900", attr(s, attrHidden))
		}
	}
	require.LessOrEqual(t, len(sink.crowd.slow), 0)
}

// TestTheSinkAgreesAboutSampling checks that the launcher flags a trace as recorded if, and only if, the
// SDK records its spans.
func TestTheSinkAgreesAboutSampling(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for _, sampler := range []string{"", "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio", "unknown", " Always_Off "} {
		for _, arg := range []string{"", "0", "0.5", "1", "2", "-1", "half"} {
			for _, flags := range []string{"", "00", "01"} {
				for n := range 8 {
					t.Run(fmt.Sprintf("%s/%s/%s/%d", sampler, arg, flags, n), func(t *testing.T) {
						setOrUnset(t, "OTEL_TRACES_SAMPLER", sampler)
						setOrUnset(t, "OTEL_TRACES_SAMPLER_ARG", arg)
						if flags != "" {
							t.Setenv("TRACEPARENT", fmt.Sprintf("00-4bf92f3577b34da6%02xce929d0e0e4736-00f067aa0ba902b7-%s", n*36, flags))
						}
						run, err := tracecontext.Start(os.Getenv)
						require.NoError(t, err)
						sink, kept := inMemory(t, run)
						sink.Take(at(0, event.RunStarted, ""))
						sink.Take(at(1, event.CommandStarted, "w-0"))
						sink.Take(at(2, event.AttemptEnded, ""))
						sink.Take(at(3, event.RunEnded, ""))
						require.Equal(t, run.Root.Sampled(), len(kept.GetSpans()) > 0)
					})
				}
			}
		}
	}
}

// setOrUnset sets a variable for one test, or makes sure that it is not set.
func setOrUnset(t *testing.T, name, value string) {
	t.Setenv(name, value)
	if value == "" {
		require.NoError(t, os.Unsetenv(name))
	}
}
