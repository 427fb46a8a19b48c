package metrics

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// record returns the events of a real run in testdata.
func record(t *testing.T, name string) []event.Event {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	all, skipped, err := event.Read(bytes.NewReader(text))
	require.NoError(t, err)
	require.Zero(t, skipped)
	return all
}

// fed returns metrics that have taken events.
func fed(t *testing.T, trace string, events ...event.Event) *Metrics {
	t.Helper()
	m := New(trace)
	for _, e := range events {
		m.Take(e)
	}
	return m
}

// families gathers the metrics by name.
func families(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	all, err := m.registry.Gather()
	require.NoError(t, err)
	found := map[string]*dto.MetricFamily{}
	for _, f := range all {
		found[f.GetName()] = f
	}
	return found
}

// values returns the values of a metric by its labels, joined by commas.
func values(t *testing.T, m *Metrics, name string) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, one := range families(t, m)[name].GetMetric() {
		var labels []string
		for _, l := range one.GetLabel() {
			labels = append(labels, l.GetValue())
		}
		value := one.GetGauge().GetValue() + one.GetCounter().GetValue() + float64(one.GetHistogram().GetSampleCount())
		if value != 0 {
			found[strings.Join(labels, ",")] = value
		}
	}
	return found
}

// scrape serves the metrics and returns what a scrape in a format gets.
func scrape(t *testing.T, m *Metrics, accept string) (text, kind string) {
	t.Helper()
	address, err := m.Serve("127.0.0.1:0")
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.String()+Path, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", accept)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s", body)
	require.NoError(t, m.Close(t.Context()))
	return string(body), answer.Header.Get("Content-Type")
}

// whole returns the events of runs in which everything happens.
func whole(t *testing.T) []event.Event {
	all := record(t, "restart.jsonl")
	sample, err := event.Sample{OutputBytes: 1000, BufferedBytes: 10, Waiting: map[string]int{"Unschedulable": 2}, Progress: []event.Number{{Rule: "expect 'step (\\d+)'", Group: 1, Value: 12}}}.Event(all[0].Time, 0)
	require.NoError(t, err)
	return append(all, sample, event.Event{Kind: event.Dropped, Time: all[0].Time, Count: 4, Rank: event.NoRank})
}

// TestARunWithARestart checks the metrics of a real run of three fake workers and a spare. A link was cut
// and came back, a worker was killed, and the second attempt succeeded.
func TestARunWithARestart(t *testing.T) {
	events := record(t, "restart.jsonl")
	m := fed(t, "", events...)
	require.Equal(t, map[string]float64{"success": 1, "lost": 1}, values(t, m, nameAttempts))
	require.Equal(t, map[string]float64{"": 1}, values(t, m, nameRestarts))
	require.Equal(t, map[string]float64{"": 3}, values(t, m, nameWanted))
	require.Equal(t, map[string]float64{"ending": 4}, values(t, m, nameWorkers))
	require.Equal(t, map[string]float64{"": 1}, values(t, m, nameRedial), "a lost worker is no redial")
	require.Equal(t, map[string]float64{"": 2}, values(t, m, nameDrops))
	require.Len(t, values(t, m, nameRunInfo), 1)

	phases := values(t, m, namePhase)
	require.EqualValues(t, 5, phases["linking"], "once for each worker, and for the new pod of the one that was killed")
	require.GreaterOrEqual(t, phases["restarting"], 3.0)
	require.NotContains(t, phases, "running")

	spent := values(t, m, nameSeconds)
	wall := events[len(events)-1].Time.Sub(events[0].Time).Seconds()
	total := 0.0
	for _, s := range spent {
		total += s
	}
	require.InDelta(t, 4*wall, total, wall, "of four workers, one of which ended early")
	require.Greater(t, spent["productive"], spent["restarting"])
	require.Greater(t, spent["spare"], 0.5)
	require.InDelta(t, spent["productive"]/(total-spent["gone"]-spent["unknown"]), values(t, m, nameRatio)[""], 1e-9)
}

// TestEveryMetricOfTheTableIsServed checks that the table, from which the reference page is generated,
// lists what is served, and bounds it.
func TestEveryMetricOfTheTableIsServed(t *testing.T) {
	found := families(t, fed(t, "", whole(t)...))
	for _, a := range Table() {
		f := found[a.Name]
		require.NotNil(t, f, a.Name)
		require.Equal(t, a.Help, f.GetHelp())
		require.Equal(t, strings.ToUpper(string(a.Type)), f.GetType().String(), a.Name)
		require.LessOrEqual(t, len(f.GetMetric()), a.Most, a.Name)
		for _, one := range f.GetMetric() {
			var names []string
			for _, l := range one.GetLabel() {
				names = append(names, l.GetName())
				if a.Values != nil {
					require.Contains(t, a.Values, l.GetValue(), a.Name)
				}
			}
			require.ElementsMatch(t, a.Labels, names, a.Name)
		}
		delete(found, a.Name)
	}
	require.Empty(t, found, "metrics that the table does not have")
}

// TestSeriesAreBounded checks that a long run with many causes and rules serves no more series than the
// table says, and that no name of a worker is a label.
func TestSeriesAreBounded(t *testing.T) {
	m, now := New(""), time.Unix(1e9, 0)
	m.now = func() time.Time { return now }
	sample := event.Sample{Waiting: map[string]int{}}
	for i := range 500 {
		sample.Waiting[fmt.Sprint("Reason", i)] = 1
		sample.Progress = append(sample.Progress, event.Number{Rule: fmt.Sprint("expect ", i), Group: 1, Value: float64(i)})
	}
	e, err := sample.Event(now, 0)
	require.NoError(t, err)
	m.Take(e)
	for i := range 200 {
		for _, kind := range []event.Kind{event.PodCreated, event.ContainerStarted, event.Linked, event.CommandStarted, event.LinkLost, event.AttemptEnded, event.Restart, event.WorkerLost} {
			now = now.Add(time.Second)
			m.Take(event.Event{Time: now, Kind: kind, Worker: fmt.Sprint("worker-", i), Attempt: i, Cause: fmt.Sprint("cause-", i), Rank: event.NoRank})
		}
	}
	series := 0
	for name, f := range families(t, m) {
		require.LessOrEqual(t, len(f.GetMetric()), about(name).Most, name)
		series += len(f.GetMetric())
	}
	require.Less(t, series, 250)
	require.Equal(t, 500.0-mostReasons+1, values(t, m, nameWaiting)[otherReason])
	require.Empty(t, m.cut)
	text, _ := scrape(t, m, "text/plain")
	require.NotContains(t, text, "worker-")
}

// TestCountersNeverShrink checks every counter at every event of a real run, and between them.
func TestCountersNeverShrink(t *testing.T) {
	m, last := New(""), map[string]float64{}
	for _, e := range whole(t) {
		m.Take(e)
		for _, later := range []time.Duration{0, time.Second} {
			m.now = func() time.Time { return e.Time.Add(later) }
			for _, a := range Table() {
				if a.Type != Counter {
					continue
				}
				for labels, value := range values(t, m, a.Name) {
					require.GreaterOrEqual(t, value, last[a.Name+labels], "%s %s at %s", a.Name, labels, e.Kind)
					last[a.Name+labels] = value
				}
			}
		}
	}
	require.NotEmpty(t, last)
}

// TestHistogramsAreNativeAndClassic checks both forms, and the exemplars of a run that belongs to a trace.
func TestHistogramsAreNativeAndClassic(t *testing.T) {
	m := fed(t, parent, whole(t)...)
	for _, name := range []string{namePhase, nameRedial} {
		for _, one := range families(t, m)[name].GetMetric() {
			h := one.GetHistogram()
			require.NotNil(t, h.Schema, "%s is not native", name)
			require.NotEmpty(t, h.GetBucket(), "%s has no classic buckets", name)
		}
	}
	text, kind := scrape(t, m, "application/openmetrics-text;version=1.0.0")
	require.Contains(t, kind, "application/openmetrics-text")
	require.Regexp(t, `(?m)^muster_link_redial_seconds_bucket\{le="[^"]+"\} 1 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} `, text)
	require.Contains(t, text, `muster_launch_phase_seconds_bucket{phase="linking",le="`)
	text, _ = scrape(t, fed(t, "", whole(t)...), "application/openmetrics-text;version=1.0.0")
	require.NotContains(t, text, "trace_id")
	_, kind = scrape(t, fed(t, "", whole(t)...), "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	require.Contains(t, kind, "protobuf")
}

func TestTraceID(t *testing.T) {
	for text, want := range map[string]string{
		parent: "0af7651916cd43dd8448eb211c80319c",
		"cc-" + parent[3:] + "-of-a-later-version": "0af7651916cd43dd8448eb211c80319c",
		"": "", "00-x": "",
		strings.ToUpper(parent):                       "",
		strings.Replace(parent, "-b7", "_b7", 1):      "",
		"00-" + strings.Repeat("0", 32) + parent[35:]: "",
	} {
		require.Equal(t, want, traceID(text), text)
	}
}

// TestLinters runs the rules of promtool over a scrape, and promtool itself.
func TestLinters(t *testing.T) {
	text, _ := scrape(t, fed(t, parent, whole(t)...), "text/plain")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	_, err = exec.LookPath("promtool")
	require.NoError(t, err, "make deps installs it")
	cmd := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

func TestAddressInUseIsAnError(t *testing.T) {
	m := New("")
	address, err := m.Serve("127.0.0.1:0")
	require.NoError(t, err)
	_, err = New("").Serve(address.String())
	require.ErrorContains(t, err, "serve metrics at "+address.String()+": ")
	require.NoError(t, m.Close(t.Context()))
	require.NoError(t, New("").Close(t.Context()))
}

// TestSamplesReplaceOneAnother checks that numbers of an earlier attempt are not served in the next one.
func TestSamplesReplaceOneAnother(t *testing.T) {
	now := time.Unix(1e9, 0)
	sample := func(s event.Sample) event.Event {
		e, err := s.Event(now, 0)
		require.NoError(t, err)
		return e
	}
	m := fed(t, "", sample(event.Sample{OutputBytes: 5, Progress: []event.Number{{Rule: "a", Group: 1, Value: 3}, {Rule: "a", Group: 2, Value: 4}}}))
	require.Equal(t, map[string]float64{"1,a": 3, "2,a": 4}, values(t, m, nameProgress))
	m.Take(sample(event.Sample{OutputBytes: 9}))
	require.Empty(t, values(t, m, nameProgress))
	require.Equal(t, map[string]float64{"": 9}, values(t, m, nameOutput))
}

// TestTimeThatMovesToAnotherClass checks that the work of an attempt that fails is lost from its last
// checkpoint on.
func TestTimeThatMovesToAnotherClass(t *testing.T) {
	now := time.Unix(1e9, 0)
	m := New("")
	m.now = func() time.Time { return now }
	take := func(after time.Duration, kind event.Kind, worker string) {
		now = now.Add(after)
		e := event.Event{Time: now, Kind: kind, Worker: worker, Rank: event.NoRank}
		if kind == event.AttemptEnded {
			e.Count = 1
		}
		m.Take(e)
	}
	require.Empty(t, values(t, m, nameRatio), "nothing is known")
	take(0, event.RunStarted, "")
	take(0, event.PodCreated, "w-0")
	take(0, event.ContainerStarted, "w-0")
	take(0, event.Linked, "w-0")
	take(time.Second, event.CommandStarted, "w-0")
	now = now.Add(9 * time.Second)
	require.InDelta(t, 9, values(t, m, nameSeconds)["productive"], 1e-9)
	require.Equal(t, map[string]float64{"": 0.9}, values(t, m, nameRatio))
	m.Take(event.Event{Time: now.Add(-6 * time.Second), Kind: event.Saved, Rank: event.NoRank})
	take(0, event.AttemptEnded, "")
	take(0, event.RunEnded, "")
	now = now.Add(time.Hour)
	spent := values(t, m, nameSeconds)
	require.InDelta(t, 3, spent["productive"], 1e-9)
	require.InDelta(t, 6, spent["lost"], 1e-9)
	require.Equal(t, map[string]float64{"": 0.3}, values(t, m, nameRatio))
}

// TestTooManyEventsForAnAccount checks that memory is bounded, and that the goodput is missing then, not
// wrong.
func TestTooManyEventsForAnAccount(t *testing.T) {
	s := newSpending()
	for range mostKept + 1 {
		s.take(event.Event{Time: time.Unix(1e9, 0), Kind: event.Restart, Rank: event.NoRank})
	}
	require.Nil(t, s.until(time.Unix(1e9, 0)))
}

// TestEventsThatNeedNoAccount checks that the goodput stays known, however often links are cut, and however many ranks of
// an mpirun print their first line.
func TestEventsThatNeedNoAccount(t *testing.T) {
	s := newSpending()
	at := time.Unix(1e9, 0)
	of := func(kind event.Kind, worker string, rank int) {
		s.take(event.Event{Time: at, Kind: kind, Worker: worker, Rank: rank})
	}
	of(event.RunStarted, "", event.NoRank)
	for i := range 500 {
		of(event.CommandStarted, fmt.Sprint("w-", i), event.NoRank)
	}
	for rank := range 4000 {
		of(event.FirstLine, "", rank)
	}
	for range mostKept {
		of(event.LinkLost, "w-0", event.NoRank)
		of(event.LinkBack, "w-0", event.NoRank)
		of(event.Straggler, "w-0", 0)
		of(event.Recovered, "", 0)
	}
	require.InDelta(t, 500*60, s.until(at.Add(time.Minute))[goodput.Productive], 1e-6)
}
