package goodput

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/timeline"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns an event of attempt 0 at a number of seconds after noon.
func at(seconds float64, kind event.Kind, worker string) event.Event {
	return event.Event{Time: noon.Add(time.Duration(seconds * float64(time.Second))), Kind: kind, Worker: worker, Rank: event.NoRank}
}

// in returns the event in another attempt.
func in(attempt int, e event.Event) event.Event {
	e.Attempt = attempt
	return e
}

// counting returns the event with a count: an exit code, or milliseconds.
func counting(n int, e event.Event) event.Event {
	e.Count = n
	return e
}

// words returns the account of events as words: "productive 20, lost 4".
func words(t *testing.T, events []event.Event, until time.Time) string {
	t.Helper()
	account := Of(timeline.Build(events, until))
	r := NewReader()
	for _, e := range events {
		r.Take(e)
	}
	require.Equal(t, account, r.Account(until), "the reader keeps what an account needs")
	var all []string
	for _, about := range Table() {
		if account[about.Class] > 0 {
			all = append(all, fmt.Sprintf("%s %g", about.Class, account[about.Class]))
		}
	}
	return strings.Join(all, ", ")
}

// one is the start of a run of one worker, whose command starts after 10 s.
func one(rest ...event.Event) []event.Event {
	return append([]event.Event{at(0, event.RunStarted, ""), at(0, event.PodCreated, "w"), at(2, event.PodScheduled, "w"), at(3, event.ContainerStarted, "w"),
		at(4, event.Linked, "w"), at(8, event.CheckStarted, ""), at(9, event.Checked, ""), at(10, event.CommandStarted, "w")}, rest...)
}

// again starts attempt 1 after 54 s, which ends with 0 after 64 s.
func again() []event.Event {
	return []event.Event{in(1, at(52, event.Restart, "")), in(1, at(54, event.CommandStarted, "w")), in(1, at(64, event.AttemptEnded, "")), in(1, at(65, event.RunEnded, ""))}
}

func TestClassesOfARun(t *testing.T) {
	const start, restart = "queued 2, starting 7, checking 1", ", restarting 4, ending 1"
	failed := counting(3, at(50, event.AttemptEnded, ""))
	over := counting(3, at(52, event.RunEnded, ""))
	rank := at(45, event.RankEnded, "w")
	rank.Rank = 0
	first := counting(event.OnlyFirst, rank)
	first.Time = noon.Add(25 * time.Second)
	for name, c := range map[string]struct {
		rest []event.Event
		want string
	}{
		"success":                        {[]event.Event{at(50, event.AttemptEnded, ""), at(51, event.RunEnded, "")}, start + ", productive 40, ending 1"},
		"it still runs":                  {nil, start + ", productive 90"},
		"failed, checkpoints unknown":    {[]event.Event{failed, over}, start + ", ending 2, unknown 40"},
		"failed, and saved nothing":      {[]event.Event{at(50, event.Unsaved, ""), failed, over}, start + ", lost 40, ending 2"},
		"failed after a checkpoint":      {[]event.Event{at(30, event.Saved, ""), failed, over}, start + ", productive 20, lost 20, ending 2"},
		"restarted after a checkpoint":   {append([]event.Event{at(30, event.Saved, ""), failed}, again()...), start + ", productive 30, lost 20" + restart},
		"restarted without being failed": {append([]event.Event{at(49, event.Unsaved, ""), at(50, event.AttemptEnded, "")}, again()...), start + ", productive 10, lost 40" + restart},
		"the newest of two checkpoints":  {[]event.Event{at(40, event.Saved, ""), at(30, event.Saved, ""), failed, over}, start + ", productive 30, lost 10, ending 2"},
		"a stall that ends":              {[]event.Event{counting(5000, at(30, event.Stalled, "")), at(33, event.Moving, ""), at(50, event.AttemptEnded, ""), at(50, event.RunEnded, "")}, start + ", productive 32, stalled 8"},
		"a stall that lasts":             {[]event.Event{counting(5000, at(30, event.Stalled, "")), at(50, event.AttemptEnded, ""), at(50, event.RunEnded, "")}, start + ", productive 15, stalled 25"},
		"a stall now":                    {[]event.Event{counting(5000, at(30, event.Stalled, ""))}, start + ", productive 15, stalled 75"},
		"a stall from before the start":  {[]event.Event{counting(50000, at(30, event.Stalled, "")), at(33, event.Moving, ""), at(50, event.AttemptEnded, ""), at(50, event.RunEnded, "")}, start + ", productive 17, stalled 23"},
		"two stalls at a time":           {[]event.Event{counting(5000, at(30, event.Stalled, "")), counting(8000, at(31, event.Stalled, "")), at(33, event.Moving, ""), at(50, event.AttemptEnded, ""), at(50, event.RunEnded, "")}, start + ", productive 30, stalled 10"},
		"a failed line is no stall":      {[]event.Event{at(30, event.Stalled, ""), at(50, event.AttemptEnded, ""), at(50, event.RunEnded, "")}, start + ", productive 40"},
		"a stall in lost work":           {[]event.Event{at(20, event.Saved, ""), counting(5000, at(30, event.Stalled, "")), at(33, event.Moving, ""), failed, over}, start + ", productive 10, stalled 8, lost 22, ending 2"},
		"a stop, and a checkpoint":       {[]event.Event{at(40, event.StopAsked, ""), at(44, event.Saved, ""), rank, failed, over}, start + ", productive 30, saving 5, ending 7"},
		"a stop, and a restart":          {append([]event.Event{at(40, event.StopAsked, ""), at(50, event.Unsaved, ""), rank, failed}, again()...), start + ", productive 10, saving 5, lost 30, restarting 9, ending 1"},
		"a stop whose ranks are unknown": {[]event.Event{at(40, event.StopAsked, ""), at(50, event.Unsaved, ""), failed, over}, start + ", saving 10, lost 30, ending 2"},
		"a stalled run is stopped":       {[]event.Event{counting(5000, at(30, event.Stalled, "")), at(40, event.StopAsked, ""), at(50, event.Unsaved, ""), rank, failed, over}, start + ", stalled 25, lost 15, ending 2"},
		"a rank that failed first":       {[]event.Event{at(30, event.Saved, ""), rank, failed, over}, start + ", productive 20, lost 15, ending 7"},
		"a rank that ended is no stop":   {[]event.Event{rank, at(50, event.AttemptEnded, ""), at(50, event.RunEnded, "")}, start + ", productive 40"},
		"a script of two mpiruns":        {[]event.Event{first, at(50, event.Unsaved, ""), failed, over}, start + ", lost 40, ending 2"},
		"the first of the ranks to save": {[]event.Event{at(20, event.StopAsked, ""), first, rank, at(50, event.Unsaved, ""), failed, over}, start + ", saving 30, lost 10, ending 2"},
		"the worker is given up":         {[]event.Event{at(40, event.WorkerLost, "w"), at(50, event.Unsaved, ""), failed, over}, start + ", lost 30, gone 12"},
		"an end that was not recorded":   {again(), start + ", productive 10, restarting 2, ending 1, unknown 42"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, words(t, one(c.rest...), noon.Add(100*time.Second)))
		})
	}
}

// TestOtherWorkers checks spares, pulls, and what the events do not tell.
func TestOtherWorkers(t *testing.T) {
	events := []event.Event{at(0, event.RunStarted, ""), at(0, event.PodCreated, "w-0"), at(0, event.PodScheduled, "w-0"), at(0, event.ImagePulling, "w-0"), at(20, event.ContainerStarted, "w-0"), at(21, event.Linked, "w-0"),
		at(5, event.Linked, "spare"), at(25, event.CommandStarted, "w-0"), at(45, event.AttemptEnded, ""), at(45, event.RunEnded, "")}
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	require.Equal(t, "pulling 20, starting 25, productive 20, spare 20, unknown 5", words(t, events, time.Time{}))
}

// TestEverySecondHasAClass checks for any sequence of events that the classes add up to the time of all
// workers, and that a Reader comes to the same account.
func TestEverySecondHasAClass(t *testing.T) {
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
			e.Attempt, e.Rank, e.Count = r.IntN(3), r.IntN(3)-1, r.IntN(3)*r.IntN(9000)
			events = append(events, e)
		}
		slices.SortStableFunc(events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
		until := noon.Add(time.Duration(r.IntN(40)) * time.Second)
		line := timeline.Build(events, until)
		account := Of(line)
		require.InDelta(t, line.Wall().Seconds()*float64(len(line.Workers)), account.Total(), 1e-6, "seed %d, round %d", seed, i)
		reader := NewReader()
		for _, e := range events {
			reader.Take(e)
		}
		other := reader.Account(until)
		for c, seconds := range account {
			require.True(t, c.known())
			require.GreaterOrEqual(t, seconds, 0.0)
			require.InDelta(t, seconds, other[c], 1e-6, "seed %d, round %d: %s", seed, i, c)
		}
		back, ok := Parse(account.Line())
		require.True(t, ok || account.Total() < 0.5, account.Line())
		for c, seconds := range back {
			require.InDelta(t, account[c], seconds, 0.0501)
		}
	}
}

// TestReaderForgetsEarlierRuns checks that the last run of a record counts, and that lost links cost no
// memory.
func TestReaderForgetsEarlierRuns(t *testing.T) {
	r := NewReader()
	for _, e := range append(one(), one()...) {
		r.Take(e)
	}
	kept := len(r.events)
	for range 1000 {
		r.Take(at(20, event.LinkLost, "w"))
		r.Take(at(21, event.LinkBack, "w"))
		r.Take(at(21, event.FirstLine, "w"))
	}
	require.Equal(t, len(one()), kept)
	require.Len(t, r.events, kept)
}

func TestRatio(t *testing.T) {
	for name, c := range map[string]struct {
		account             Account
		percent, line, text string
		brief               string
	}{
		"all":             {Account{Productive: 10}, "100.0%", "goodput 100.0%: productive 10.0 s", "goodput 100.0%: productive 100.0%", "goodput 100.0%"},
		"almost all":      {Account{Productive: 99999, Lost: 1}, "99.9%", "goodput 99.9%: productive 99999.0 s, lost 1.0 s", "goodput 99.9%: productive 100.0%", "goodput 99.9%"},
		"a part":          {Account{Queued: 5, Productive: 93.1, Stalled: 1.9}, "93.1%", "goodput 93.1%: queued 5.0 s, productive 93.1 s, stalled 1.9 s", "goodput 93.1%: queued 5.0%, productive 93.1%, stalled 1.9%", "goodput 93.1%"},
		"some is unknown": {Account{Productive: 60, Lost: 20, Gone: 10, Unknown: 10}, "75.0%", "goodput 75.0%: productive 60.0 s, lost 20.0 s, gone 10.0 s, unknown 10.0 s", "goodput 75.0%: productive 60.0%, lost 20.0%; not counted: gone 10.0%, unknown 10.0%", "goodput 75.0% (10% of the time is unknown)"},
		"most is unknown": {Account{Starting: 10, Unknown: 90}, "unknown", "goodput unknown: starting 10.0 s, unknown 90.0 s", "goodput unknown: starting 10.0%; not counted: unknown 90.0%", ""},
		"nothing":         {nil, "unknown", "goodput unknown: ", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{c.percent, c.line, c.text, c.brief}, []string{c.account.Percent(), c.account.Line(), c.account.Text(), c.account.Brief()})
		})
	}
}

func TestAccountsAddUp(t *testing.T) {
	a := Account{Productive: 10}
	a.Add(Account{Productive: 5, Lost: 5})
	require.Equal(t, Account{Productive: 15, Lost: 5}, a)
	require.Equal(t, "75.0%", a.Percent())
}

func TestAccountAsJSON(t *testing.T) {
	text, err := json.Marshal(Account{Productive: 30, Lost: 10, Queued: 0})
	require.NoError(t, err)
	require.JSONEq(t, `{"ratio":0.75,"seconds":{"productive":30,"lost":10}}`, string(text))
	var back Account
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, Account{Productive: 30, Lost: 10}, back)
	text, err = json.Marshal(Account{Unknown: 10})
	require.NoError(t, err)
	require.JSONEq(t, `{"seconds":{"unknown":10}}`, string(text))
}

// TestParse checks that text of other programs is no account, and that later classes are unknown.
func TestParse(t *testing.T) {
	got, ok := Parse("goodput 93.1%: productive 93.1 s, thinking 4.0 s, unknown 2.9 s")
	require.True(t, ok)
	require.InDelta(t, 6.9, got[Unknown], 1e-9)
	for _, text := range []string{"", "goodput", "goodput was fine", "goodput 93.1%: ", "goodput 1%: productive 3", "goodput 1%: productive x s", "goodput 1%: productive -3.0 s",
		"goodput 1%: productive NaN s", "goodput 1%: productive 1e300 s", "my goodput 93.1%: productive 1.0 s"} {
		_, ok := Parse(text)
		require.False(t, ok, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("goodput 93.1%: productive 3351.2 s, lost 2.0 s")
	f.Fuzz(func(t *testing.T, text string) {
		a, ok := Parse(text)
		if !ok {
			return
		}
		for c, seconds := range a {
			if !c.known() || !(seconds >= 0) {
				t.Fatalf("%q: %s %g", text, c, seconds)
			}
		}
	})
}

// TestTableOfClasses checks that each class has one entry, and each phase a class.
func TestTableOfClasses(t *testing.T) {
	seen := map[Class]bool{}
	for _, a := range Table() {
		require.False(t, seen[a.Class], a.Class)
		seen[a.Class] = true
		require.NotEmpty(t, a.Means)
	}
	for _, p := range timeline.Table() {
		if p.Phase != timeline.Unknown && p.Phase != timeline.Running {
			require.NotEqual(t, Unknown, classOf(p.Phase), p.Phase)
		}
	}
}
