package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
)

// track gives sorted events to a Tracker, and returns the ended spans of each worker as words.
func track(events []event.Event) (*Tracker, map[string][]string) {
	got := map[string][]string{}
	tr := NewTracker(func(worker string, s Span) {
		word := string(s.Phase)
		if s.Phase == Running {
			word += fmt.Sprint(s.Attempt)
		}
		got[worker] = append(got[worker], fmt.Sprintf("%s %g", word, s.Took().Seconds()))
	})
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	for _, e := range events {
		tr.Take(e)
	}
	return tr, got
}

// TestTrackerSaysWhatATimelineSays checks the spans of the same launch. Only a worker that does not exist
// yet, or does not exist any more, has no phase.
func TestTrackerSaysWhatATimelineSays(t *testing.T) {
	tr, got := track(launch())
	require.Equal(t, "queued 1, starting 1, linking 1, waiting 31, checking 2, running0 26, restarting 2, running1 30", strings.Join(got["w-0"], ", "))
	require.Equal(t, "queued 10, starting 2, pulling 20, linking 1, waiting 1, checking 2, running0 24, lost 3", strings.Join(got["w-1"], ", "))
	require.Equal(t, "starting 1, linking 2, waiting 30, checking 2, spare 26, restarting 2, running1 30", strings.Join(got["w-2"], ", "))
	require.Equal(t, map[Phase]int{Ending: 2}, tr.Phases())
	spent := tr.Spent(noon.Add(96 * time.Second))
	require.Equal(t, (26+30+24+30)*time.Second, spent[Running])
	require.Equal(t, 4*time.Second, spent[Ending], "of both workers, until now")
}

// TestTrackerForgetsPodsOfAPast checks that the time before the launcher counts only for pods that started
// after it.
func TestTrackerForgetsPodsOfAPast(t *testing.T) {
	old := []event.Event{at(-9000, event.PodCreated, "w-0"), at(-8000, event.PodScheduled, "w-0"), at(-7000, event.ContainerStarted, "w-0"), at(-20, event.PodCreated, "w-1")}
	tr := NewTracker(nil)
	tr.Take(at(0, event.RunStarted, ""))
	for _, e := range append(old, at(2, event.Linked, "w-0"), at(10, event.PodScheduled, "w-1"), at(11, event.ContainerStarted, "w-1"), at(12, event.Linked, "w-1")) {
		tr.Take(e)
	}
	require.Equal(t, map[Phase]time.Duration{Linking: 3 * time.Second, Queued: 30 * time.Second, Starting: time.Second, Waiting: 10 * time.Second}, tr.Spent(noon.Add(12*time.Second)))
}

// TestTrackerKeepsNoPast checks that a run of many attempts and ever new workers needs no more memory.
func TestTrackerKeepsNoPast(t *testing.T) {
	tr := NewTracker(nil)
	tr.Take(at(0, event.RunStarted, ""))
	for n := range 1000 {
		name, now := fmt.Sprint("w-", n), float64(10*n)
		for _, e := range []event.Event{at(now, event.PodCreated, name), at(now+1, event.ContainerStarted, name), at(now+2, event.Linked, name),
			at(now+3, event.CommandStarted, name), at(now+8, event.WorkerLost, name), at(now+8, event.AttemptEnded, ""), at(now+9, event.Restart, "")} {
			e.Attempt = n
			if e.Kind == event.Restart {
				e.Attempt++
			}
			tr.Take(e)
		}
	}
	require.Len(t, tr.workers, 1)
	require.Len(t, tr.run.takes, 1)
	require.Equal(t, map[Phase]int{Lost: 1}, tr.Phases())
	require.Equal(t, 5000*time.Second, tr.Spent(noon)[Running])
}

// TestTrackerKeepsAReplacement checks that the replacement of a worker, a new pod of the same name, is not
// forgotten with it.
func TestTrackerKeepsAReplacement(t *testing.T) {
	tr, _ := track([]event.Event{at(0, event.RunStarted, ""), at(0, event.PodCreated, "w-0"), at(1, event.ContainerStarted, "w-0"), at(2, event.Linked, "w-0"), at(3, event.CommandStarted, "w-0"),
		at(4, event.WorkerLost, "w-0"), at(5, event.PodCreated, "w-0"), at(6, event.ContainerStarted, "w-0"), at(7, event.Linked, "w-0"), at(8, event.Replaced, "w-0")})
	require.Equal(t, 1, len(tr.workers))
}
