package timeline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
)

// live returns the spans of each worker that a Live returns for events in this order, and the attempts.
func live(events []event.Event) (spans map[string][]Span, attempts []Attempt) {
	var l Live
	spans = map[string][]Span{}
	take := func(all []Ended, a *Attempt) {
		for _, e := range all {
			spans[e.Worker] = append(spans[e.Worker], e.Span)
		}
		if a != nil {
			attempts = append(attempts, *a)
		}
	}
	for _, e := range events {
		take(l.Take(e))
	}
	take(l.End(events[len(events)-1].Time))
	return spans, attempts
}

// known returns spans as words, without unknown ones. A Live may return one span
// in two parts; they are one here.
func known(all []Span) (words []string) {
	var last Span
	for _, s := range all {
		if s.Phase == Unknown || s.Took() == 0 {
			continue
		}
		if s.Phase == last.Phase && s.From.Equal(last.To) && (s.Phase != Running || s.Attempt == last.Attempt) {
			s.From = last.From
			words = words[:len(words)-1]
		}
		last = s
		words = append(words, fmt.Sprintf("%s %s-%s", s.Phase, s.From.Format("15:04:05.000000"), s.To.Format("15:04:05.000000")))
	}
	return words
}

// lastPhases counts the workers of a timeline by their last phase, as Live.Phases does.
func lastPhases(line *Timeline) map[Phase]int {
	count, last := map[Phase]int{}, 0
	for _, a := range line.Attempts {
		last = max(last, a.Number)
	}
	for _, w := range line.Workers {
		s := w.Spans[len(w.Spans)-1]
		if s.Phase != Lost || s.Attempt >= last {
			count[s.Phase]++
		}
	}
	return count
}

// same checks that a Live returns what Build does, and that its phases are those of Build while the run
// goes on.
func same(t *testing.T, events []event.Event) {
	t.Helper()
	var l Live
	for i, e := range events {
		l.Take(e)
		if i%7 != 0 && i != len(events)-1 {
			continue
		}
		require.Equal(t, lastPhases(Build(events[:i+1], l.seen.Add(time.Nanosecond))), l.Phases(), "after event %d, %s %s", i, e.Kind, e.Worker)
	}
	line := Build(events, time.Time{})
	spans, attempts := live(events)
	require.Equal(t, line.Attempts, attempts)
	for _, w := range line.Workers {
		require.Equal(t, known(w.Spans), known(spans[w.Name]), w.Name)
	}
}

func TestLiveIsTheTimeline(t *testing.T) {
	same(t, launch())
	files, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(t, err)
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		events, _, err := event.Read(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		same(t, events)
	}
}

// TestLiveForgets checks that days of attempts and cut links need no more memory than the first ones.
func TestLiveForgets(t *testing.T) {
	const workers = 50
	var l Live
	second, most := 0.0, 0
	take := func(kind event.Kind, worker string, attempt int) {
		second += 0.01
		e := at(second, kind, worker)
		e.Attempt = attempt
		l.Take(e)
		most = max(most, len(l.events))
	}
	each := func(kind event.Kind, attempt int) {
		for i := range workers {
			take(kind, fmt.Sprintf("w-%d", i), attempt)
		}
	}
	take(event.RunStarted, "", 0)
	each(event.PodCreated, 0)
	each(event.PodScheduled, 0)
	each(event.ContainerStarted, 0)
	each(event.Linked, 0)
	take(event.AllLinked, "", 0)
	first := 0
	for attempt := range 60 {
		each(event.CommandStarted, attempt)
		for range 20 {
			each(event.LinkLost, attempt)
			each(event.LinkBack, attempt)
			each(event.Waiting, attempt)
			second += 60
		}
		take(event.AttemptEnded, "", attempt)
		take(event.Restart, "", attempt+1)
		if attempt == 2 {
			first, most = most, 0
		}
	}
	require.LessOrEqual(t, most, first)
	require.LessOrEqual(t, most, workers*40)
}

// TestLiveTakesLateEvents checks events that are recorded after others that happened later, as pulls are.
func TestLiveTakesLateEvents(t *testing.T) {
	events := launch()
	for i, e := range events { // the launcher learns of the pull when the container has started
		if e.Kind == event.ImagePulling {
			events = slices.Insert(slices.Delete(slices.Clone(events), i, i+1), i+1, e)
			break
		}
	}
	same(t, events)
}

// TestPhasesForgetTheLost checks that a lost worker counts until an attempt has started without it, and
// that its replacement of the same name counts.
func TestPhasesForgetTheLost(t *testing.T) {
	var l Live
	for _, e := range []event.Event{at(0, event.RunStarted, ""), at(0, event.PodCreated, "w-0"), at(0, event.PodCreated, "w-1"), at(1, event.Linked, "w-0"), at(1, event.Linked, "w-1"),
		at(2, event.CommandStarted, "w-0"), at(2, event.CommandStarted, "w-1"), at(4, event.WorkerLost, "w-1"), at(5, event.AttemptEnded, "")} {
		l.Take(e)
	}
	require.Equal(t, map[Phase]int{Ending: 1, Lost: 1}, l.Phases())
	next := at(6, event.CommandStarted, "w-0")
	next.Attempt = 1
	l.Take(next)
	require.Equal(t, map[Phase]int{Running: 1}, l.Phases())
	l.Take(at(7, event.PodCreated, "w-1"))
	l.Take(at(8, event.Replaced, "w-1"))
	require.Equal(t, map[Phase]int{Running: 1, Queued: 1}, l.Phases())
}

func TestLiveOfARunWithoutAnEnd(t *testing.T) {
	var l Live
	for _, e := range launch()[:22] { // the first attempt runs
		l.Take(e)
	}
	spans, attempt := l.End(noon.Add(50 * time.Second))
	require.Equal(t, 50*time.Second, attempt.To.Sub(noon))
	require.False(t, attempt.Over)
	for _, one := range spans {
		require.Equal(t, noon.Add(50*time.Second), one.To)
	}
	require.Len(t, spans, 3)
	more, none := l.End(noon.Add(time.Hour))
	require.Empty(t, more)
	require.Nil(t, none)
}

// TestLiveReturnsSpansOfAWorkerThatJoins checks a worker that joins an attempt, after which nothing turns.
func TestLiveReturnsSpansOfAWorkerThatJoins(t *testing.T) {
	var l Live
	for _, e := range []event.Event{at(0, event.RunStarted, ""), at(0, event.PodCreated, "w-0"), at(1, event.Linked, "w-0"), at(2, event.CommandStarted, "w-0"),
		at(10, event.PodCreated, "w-1"), at(20, event.Linked, "w-1"), at(21, event.CommandStarted, "w-1")} {
		spans, _ := l.Take(e)
		for _, one := range spans {
			require.Equal(t, "w-0", one.Worker)
		}
	}
	spans, _ := l.Take(at(60, event.FirstLine, "w-1"))
	require.Len(t, spans, 3)
	require.Equal(t, Waiting, spans[2].Phase)
	require.Equal(t, "w-1", spans[2].Worker)
}

// TestLiveNamesCauses checks that the cause is that of the span, and the node that of the worker.
func TestLiveNamesCauses(t *testing.T) {
	var l Live
	causes := map[string]string{}
	for _, e := range launch() {
		spans, _ := l.Take(e)
		for _, one := range spans {
			if one.Cause != "" {
				causes[one.Worker+" "+string(one.Phase)] = one.Node + " " + one.Cause
			}
		}
	}
	require.Equal(t, map[string]string{
		"w-1 queued":  "n-2 Unschedulable: Insufficient nvidia.com/gpu",
		"w-1 pulling": `n-2 Pulling image "big"`,
		"w-1 lost":    "n-2 gone",
	}, causes)
}

// FuzzLive compares a Live with the timeline of random runs.
func FuzzLive(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { same(t, randomRun(rand.New(rand.NewPCG(seed, 1)))) })
}

// randomRun returns a run as launchers record it: pods that start, attempts, lost and replaced workers.
func randomRun(r *rand.Rand) (events []event.Event) {
	second := 0.0
	next := func(kind event.Kind, worker string, attempt int) {
		second += r.ExpFloat64() * 2
		e := at(second, kind, worker)
		e.Attempt = attempt
		events = append(events, e)
	}
	workers, serial, launched := []string{}, 0, 0.0
	start := func(attempt int) string {
		name := fmt.Sprintf("w-%d", serial)
		serial++
		for _, kind := range []event.Kind{event.PodCreated, event.PodScheduled, event.ImagePulling, event.ImagePulled, event.ContainerStarted, event.Linked} {
			if kind == event.Linked {
				second = max(second, launched)
			}
			if r.IntN(5) > 0 || kind == event.PodCreated || kind == event.Linked {
				next(kind, name, attempt)
			}
		}
		return name
	}
	next(event.RunStarted, "", 0)
	launched = second
	for range 1 + r.IntN(4) {
		before := second
		if r.IntN(3) == 0 { // a pod that is older than the launcher
			second = launched - 20*r.Float64()
		}
		workers = append(workers, start(0))
		second = max(second, before)
	}
	next(event.AllLinked, "", 0)
	for attempt := range 1 + r.IntN(4) {
		if attempt > 0 {
			next(event.Restart, "", attempt)
		}
		if r.IntN(2) == 0 {
			next(event.CheckStarted, "", attempt)
			next(event.Checked, "", attempt)
		}
		for _, w := range workers[:1+r.IntN(len(workers))] {
			next(event.CommandStarted, w, attempt)
		}
		for range r.IntN(5) {
			i := r.IntN(len(workers))
			switch r.IntN(3) {
			case 0:
				next(event.LinkLost, workers[i], attempt)
				next(event.LinkBack, workers[i], attempt)
			case 1:
				next(event.WorkerLost, workers[i], attempt)
				workers[i] = start(attempt)
			case 2:
				second += 40
			}
		}
		next(event.AttemptEnded, "", attempt)
	}
	next(event.RunEnded, "", 0)
	return events
}
