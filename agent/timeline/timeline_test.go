package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns an event at a number of seconds after noon.
func at(seconds float64, kind event.Kind, worker string) event.Event {
	return event.Event{Time: noon.Add(time.Duration(seconds * float64(time.Second))), Kind: kind, Worker: worker, Rank: event.NoRank}
}

func detailed(e event.Event, attempt int, detail string) event.Event {
	e.Attempt, e.Detail = attempt, detail
	return e
}

// phases returns a worker's spans as words: "queued 10".
func phases(t *testing.T, line *Timeline, name string) string {
	t.Helper()
	for _, w := range line.Workers {
		if w.Name == name {
			var all []string
			for _, s := range w.Spans {
				word := string(s.Phase)
				if s.Phase == Running {
					word += fmt.Sprint(s.Attempt)
				}
				all = append(all, fmt.Sprintf("%s %g", word, s.Took().Seconds()))
			}
			return strings.Join(all, ", ")
		}
	}
	require.Fail(t, "no such worker", name)
	return ""
}

// launch is a run of two pods, of which one waits for a node and for an image. One is lost, and a
// spare takes its place.
func launch() []event.Event {
	pull := at(12, event.ImagePulling, "w-1")
	pull.Detail, pull.Node = "Pulling image \"big\"", "n-2"
	failed := at(62, event.AttemptEnded, "")
	failed.Count, failed.Detail = 76, "worker w-1 lost: gone"
	return []event.Event{
		at(0, event.RunStarted, ""),
		at(0, event.PodCreated, "w-0"), at(1, event.PodScheduled, "w-0"), at(2, event.ContainerStarted, "w-0"), at(3, event.Linked, "w-0"),
		at(0, event.PodCreated, "w-1"), detailed(at(5, event.Waiting, "w-1"), 0, "Unschedulable: Insufficient nvidia.com/gpu"), at(10, event.PodScheduled, "w-1"), pull, at(32, event.ContainerStarted, "w-1"), at(33, event.Linked, "w-1"),
		at(1, event.PodCreated, "w-2"), at(1, event.PodScheduled, "w-2"), at(2, event.ContainerStarted, "w-2"), at(4, event.Linked, "w-2"),
		at(33, event.AllLinked, ""), at(34, event.CheckStarted, ""), at(36, event.Checked, ""),
		at(36, event.CommandStarted, "w-0"), at(36, event.CommandStarted, "w-1"), at(40, event.LinkLost, "w-0"), at(41, event.LinkBack, "w-0"),
		detailed(at(60, event.WorkerLost, "w-1"), 0, "gone"), failed,
		detailed(at(62, event.Restart, ""), 1, "attempt 2"), detailed(at(63, event.Replaced, "w-1"), 1, "w-2"),
		detailed(at(64, event.CommandStarted, "w-0"), 1, ""), detailed(at(64, event.CommandStarted, "w-2"), 1, ""),
		detailed(at(94, event.AttemptEnded, ""), 1, ""), at(95, event.RunEnded, ""),
	}
}

func TestPhasesOfALaunch(t *testing.T) {
	line := Build(launch(), time.Time{})
	require.Equal(t, 95*time.Second, line.Wall())
	require.Equal(t, "queued 1, starting 1, linking 1, waiting 31, checking 2, running0 26, restarting 2, running1 30, ending 1", phases(t, line, "w-0"))
	require.Equal(t, "queued 10, starting 2, pulling 20, linking 1, waiting 1, checking 2, running0 24, lost 35", phases(t, line, "w-1"))
	require.Equal(t, "unknown 1, starting 1, linking 2, waiting 30, checking 2, spare 26, restarting 2, running1 30, ending 1", phases(t, line, "w-2"))
	require.Equal(t, []Attempt{{Number: 0, From: noon.Add(36 * time.Second), To: noon.Add(62 * time.Second), Exit: 76, Why: "worker w-1 lost: gone", Over: true},
		{Number: 1, From: noon.Add(64 * time.Second), To: noon.Add(94 * time.Second), Over: true}}, line.Attempts)
	require.True(t, line.Over)
}

// TestSlowestIsNamedWithItsCause checks that the worker, its node and the reason are named.
func TestSlowestIsNamedWithItsCause(t *testing.T) {
	all := map[Phase]Slowest{}
	for _, s := range Build(launch(), time.Time{}).Slowest {
		all[s.Phase] = s
	}
	require.Equal(t, Slowest{Queued, "w-1", "n-2", 10 * time.Second, time.Second, "Unschedulable: Insufficient nvidia.com/gpu"}, all[Queued])
	require.Equal(t, Slowest{Pulling, "w-1", "n-2", 20 * time.Second, 0, `Pulling image "big"`}, all[Pulling])
	require.Equal(t, "w-2", all[Linking].Worker)
	require.Equal(t, "gone", all[Lost].Cause)
	require.NotContains(t, all, Checking)
	require.NotContains(t, all, Waiting, "a worker waits long because another one is slow")
}

// TestFindingIsNamed checks that a slow pair of workers is named, with the worst finding.
func TestFindingIsNamed(t *testing.T) {
	line := Build(append(launch(), detailed(at(35.5, event.CheckProblem, ""), 0, "gang: missing"), detailed(at(35.6, event.CheckProblem, "w-0"), 0, "round-trip: 12 ms"), detailed(at(35.7, event.CheckProblem, "w-1"), 0, "clock: off")), time.Time{})
	require.Contains(t, line.Text(80), "c checking     2.1%  found on w-0: round-trip: 12 ms\n")
}

// TestBeginOfTheWallTime checks that pods that already ran when the launcher started do not lengthen
// the wall time, and that pods that had not started do.
func TestBeginOfTheWallTime(t *testing.T) {
	old := []event.Event{at(0, event.RunStarted, ""), at(-9000, event.PodCreated, "w-0"), at(-8999, event.PodScheduled, "w-0"), at(-8990, event.ContainerStarted, "w-0"), at(-8990, event.ContainerStarted, "w-0"), at(4, event.CommandStarted, "w-0"), at(9, event.RunEnded, "")}
	line := Build(old, time.Time{})
	require.Equal(t, 9*time.Second, line.Wall())
	require.Equal(t, "linking 4, running0 5", phases(t, line, "w-0"))

	line = Build(append(old, at(-20, event.PodCreated, "w-1"), at(1, event.ContainerStarted, "w-1"), at(-30, event.PodCreated, "w-2")), time.Time{})
	require.Equal(t, 39*time.Second, line.Wall())
	require.Equal(t, "unknown 10, queued 21, linking 8", phases(t, line, "w-1"))
	require.Equal(t, "queued 39", phases(t, line, "w-2"))
}

// TestUnknownIsSaid checks that a record without its beginning leaves open what it does not tell.
func TestUnknownIsSaid(t *testing.T) {
	line := Build([]event.Event{at(0, event.LinkLost, "w-0"), at(5, event.LinkBack, "w-0"), at(7, "gpu-throttled", "w-9"), at(9, event.AttemptEnded, ""), at(10, event.RunEnded, "")}, time.Time{})
	require.Len(t, line.Workers, 1, "an unknown kind makes no worker")
	require.Equal(t, "unknown 9, ending 1", phases(t, line, "w-0"))
	require.Empty(t, Build(nil, noon).Workers)
	require.Zero(t, Build(nil, noon).Wall())
}

// TestRunThatGoesOn checks that a run without an end lasts until now.
func TestRunThatGoesOn(t *testing.T) {
	events := launch()[:20]
	require.Equal(t, 36*time.Second, Build(events, time.Time{}).Wall(), "a launcher that crashed")
	line := Build(events, noon.Add(100*time.Second))
	require.Equal(t, 100*time.Second, line.Wall())
	require.False(t, line.Over)
	require.False(t, line.Attempts[0].Over)
	require.Contains(t, line.Text(80), "3 workers, 100 s, not ended\n")
}

// TestLastRunCounts checks that a file with two runs shows the later one.
func TestLastRunCounts(t *testing.T) {
	later := []event.Event{at(200, event.RunStarted, ""), at(201, event.Linked, "v-0"), at(203, event.RunEnded, "")}
	line := Build(append(launch(), later...), time.Time{})
	require.Len(t, line.Workers, 1)
	require.Equal(t, "unknown 1, waiting 2", phases(t, line, "v-0"))
}

// TestPhasesAddUp checks for any sequence of events that the spans of each worker are without gaps,
// and add up to the wall time exactly.
func TestPhasesAddUp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	kinds := []event.Kind{"of-a-newer-release"}
	for _, a := range event.Table() {
		kinds = append(kinds, a.Kind)
	}
	for i := range 3000 {
		var events []event.Event
		for range r.IntN(60) {
			e := at(float64(r.IntN(200))/7, kinds[r.IntN(len(kinds))], []string{"", "w-0", "w-1", "w-2"}[r.IntN(4)])
			e.Attempt, e.Rank = r.IntN(3), r.IntN(3)-1
			events = append(events, e)
		}
		line := Build(events, noon.Add(time.Duration(r.IntN(40))*time.Second))
		for _, w := range line.Workers {
			var sum time.Duration
			for _, took := range w.Spent() {
				sum += took
			}
			require.Equal(t, line.Wall(), sum, "seed %d, round %d: %v", seed, i, w.Spans)
			require.Equal(t, line.From, w.Spans[0].From)
			require.Equal(t, line.To, w.Spans[len(w.Spans)-1].To)
			for j, s := range w.Spans {
				require.NotEqual(t, byte('?'), of(s.Phase).Mark)
				require.GreaterOrEqual(t, s.Took(), time.Duration(0))
				if j > 0 {
					require.Equal(t, w.Spans[j-1].To, s.From)
				}
			}
		}
		require.NotPanics(t, func() { line.Text(r.IntN(200)) })
	}
}

// TestFirstOutput checks that an attempt has the earliest of its first lines, and whose it was as far as
// that is known.
func TestFirstOutput(t *testing.T) {
	line := func(second float64, attempt int, worker string, rank int, detail string) event.Event {
		e := detailed(at(second, event.FirstLine, worker), attempt, detail)
		e.Rank = rank
		return e
	}
	for name, row := range map[string]struct {
		lines []event.Event
		want  string
	}{
		"none":               {nil, ""},
		"a rank of a group":  {[]event.Event{line(5, 0, "w-0", 3, ""), line(4, 0, "w-0", 1, "")}, "first output 2.00 s after the start of attempt 0, by rank 1\n"},
		"a parameter server": {[]event.Event{line(5, 0, "w-0", event.NoRank, "ps 0")}, "first output 3.00 s after the start of attempt 0, by ps 0\n"},
		"a tag of mpirun":    {[]event.Event{line(5, 0, "", 0, "")}, "first output 3.00 s after the start of attempt 0, by rank 0\n"},
		"no tag":             {[]event.Event{line(3, 0, "", event.NoRank, "a line of the command that names no rank"), line(5, 0, "", 7, "")}, "first output 1.00 s after the start of attempt 0, by the command (the line names no rank)\n"},
		"of another attempt": {[]event.Event{line(3, 1, "w-0", 0, "")}, ""},
	} {
		events := append([]event.Event{at(0, event.RunStarted, ""), at(1, event.Linked, "w-0"), at(2, event.CommandStarted, "w-0")}, row.lines...)
		one := Build(append(events, at(9, event.RunEnded, "")), time.Time{})
		require.Equal(t, row.want, one.firstLine(), name)
		text, err := one.JSON(nil)
		require.NoError(t, err)
		require.Equal(t, row.want != "", bytes.Contains(text, []byte(`"first_output"`)), name)
		same(t, events)
	}
}

func TestText(t *testing.T) {
	require.Equal(t, `3 workers, 95 s, 2 attempts, exit code 0
    0                                                      95 s
w-1 qqqqqqspppppppppppppwc===============xxxxxxxxxxxxxxxxxxxxxx
w-0 qlwwwwwwwwwwwwwwwwwwwc=================r==================e
w-2 .lwwwwwwwwwwwwwwwwwwwciiiiiiiiiiiiiiiiir==================e

q queued       3.9%  slowest: w-1 on n-2 10 s, median 1.00 s: Unschedulable: Insufficient nvidia.com/gpu
p pulling      7.0%  slowest: w-1 on n-2 20 s, median 0.00 s: Pulling image "big"
s starting     1.4%  slowest: w-1 on n-2 2.00 s, median 1.00 s
l linking      1.4%  slowest: w-2 2.00 s, median 1.00 s
w waiting     21.8%
c checking     2.1%
= running     38.6%
r restarting   1.4%
i spare        9.1%
x lost        12.3%  slowest: w-1 on n-2 35 s, median 0.00 s: gone
e ending       0.7%
. unknown      0.4%
`, Build(launch(), time.Time{}).Text(63))
}

// TestManyWorkersFitAScreen checks that the slowest workers are shown, and the others counted.
func TestManyWorkersFitAScreen(t *testing.T) {
	events := []event.Event{at(0, event.RunStarted, "")}
	for i := range 1000 {
		name := fmt.Sprint("w-", i)
		events = append(events, at(0, event.PodCreated, name), at(1, event.PodScheduled, name), at(2, event.ContainerStarted, name), at(float64(3+i%500*i%7), event.Linked, name))
	}
	events = append(events, at(0, event.PodCreated, "w-late"), at(60, event.RunEnded, ""))
	text := Build(events, time.Time{}).Text(80)
	require.Contains(t, text, "\nw-late qqqq")
	require.Contains(t, text, "\n       and 991 more workers, which started sooner\n")
	require.LessOrEqual(t, strings.Count(text, "\n"), 24)
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(strings.TrimSpace(line)), 80+len("slowest: "))
	}
}

func TestJSONAddsUp(t *testing.T) {
	text, err := Build(launch(), time.Time{}).JSON(nil)
	require.NoError(t, err)
	var got struct {
		Seconds float64
		Over    bool
		Slowest []struct{ Phase, Worker, Cause string }
		Workers []struct {
			Worker string
			Phases map[string]float64
			Spans  []struct{ From, Seconds float64 }
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.EqualValues(t, 95, got.Seconds)
	require.True(t, got.Over)
	require.Len(t, got.Workers, 3)
	for _, w := range got.Workers {
		sum := 0.0
		for _, s := range w.Phases {
			sum += s
		}
		require.InDelta(t, 95, sum, 1e-6)
	}
	text, err = Build(nil, noon).JSON(nil)
	require.NoError(t, err)
	require.NotContains(t, string(text), "null")
}

// TestChromeTrace checks the shape that Perfetto and Chrome read: spans with a time and a duration in
// a thread that has a name.
func TestChromeTrace(t *testing.T) {
	text, err := Build(launch(), time.Time{}).Chrome()
	require.NoError(t, err)
	var got struct {
		TraceEvents []map[string]any `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(text, &got))
	threads, sum, moments := map[any]any{}, map[any]float64{}, 0
	for _, e := range got.TraceEvents {
		require.EqualValues(t, 1, e["pid"])
		require.Contains(t, e, "tid")
		require.NotEmpty(t, e["name"])
		switch e["ph"] {
		case "M":
			if e["name"] == "thread_name" {
				threads[e["tid"]] = e["args"].(map[string]any)["name"]
			}
		case "X":
			require.GreaterOrEqual(t, e["ts"].(float64), 0.0)
			require.GreaterOrEqual(t, e["dur"].(float64), 0.0)
			if e["cat"] == "phase" {
				sum[e["tid"]] += e["dur"].(float64)
			}
		case "i":
			require.Equal(t, "t", e["s"])
			moments++
		default:
			require.Fail(t, "unknown phase of an event", e)
		}
		require.Contains(t, []any{"M", "X", "i"}, e["ph"])
	}
	require.Equal(t, map[any]any{0.0: "run", 1.0: "w-0", 2.0: "w-1 on n-2", 3.0: "w-2"}, threads)
	require.Equal(t, map[any]float64{1.0: 95e6, 2.0: 95e6, 3.0: 95e6}, sum)
	require.Equal(t, 5, moments)
}

func TestMarksAreDistinct(t *testing.T) {
	seen := map[byte]bool{}
	for _, a := range Table() {
		require.False(t, seen[a.Mark], a.Phase)
		seen[a.Mark] = true
		require.NotEmpty(t, a.Means)
	}
}

func TestNamesSortByNumber(t *testing.T) {
	require.Negative(t, byName("w-2", "w-10"))
	require.Negative(t, byName("a-10", "b-2"))
	require.Zero(t, byName("w", "w"))
}
