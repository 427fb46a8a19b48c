package event

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// briefOf returns a Brief that has taken the events of a run with restarts, each after 10 s.
func briefOf(restarts int) *Brief {
	b := &Brief{}
	at := noon
	note := func(kind Kind, attempt, seconds int) {
		at = at.Add(time.Duration(seconds) * time.Second)
		b.Take(Event{Time: at, Kind: kind, Attempt: attempt, Worker: "w-0", Rank: NoRank, Detail: "boom"})
		if kind == CommandStarted { // other workers take part as well
			b.Take(Event{Time: at.Add(time.Second / 2), Kind: kind, Attempt: attempt, Worker: "w-1", Rank: NoRank})
		}
	}
	b.Take(Event{Time: noon.Add(-time.Hour), Kind: AllLinked}) // of another run
	note(RunStarted, 0, 0)
	note(AllLinked, 0, 2)
	for i := range restarts + 1 {
		if i > 0 {
			note(Restart, i, 1)
		}
		note(CommandStarted, i, 1)
		note(FirstLine, i, 1)
		at = at.Add(6 * time.Second)
		end := Event{Time: at, Kind: AttemptEnded, Attempt: i, Rank: NoRank, Detail: "boom", Cause: "oom", Count: 137}
		if i == restarts {
			end.Cause, end.Count = "success", 0
		}
		b.Take(end)
		note(LinkLost, i, 0)
	}
	return b
}

func TestBriefIsOneLine(t *testing.T) {
	const want = "events from 2026-03-01T12:00:00Z: all-linked 2.0, command-started 3.0, first-line 4.0, attempt-ended 10.0 code 137 oom, " +
		"restart 11.0, command-started 12.0, first-line 13.0, attempt-ended 19.0 code 0 success"
	line := briefOf(1).Line(1000)
	require.Equal(t, want, line)
	all, omitted, ok := ParseBrief(line)
	require.True(t, ok)
	require.Zero(t, omitted)
	require.Len(t, all, 8)
	require.Equal(t, Event{Time: noon.Truncate(time.Second).Add(10 * time.Second), Kind: AttemptEnded, Rank: NoRank, Cause: "oom", Count: 137}, all[3])
	require.Equal(t, Restart, all[4].Kind)
	require.Equal(t, 1, all[4].Attempt)
	require.Equal(t, 1, all[7].Attempt)
}

// TestBriefIsBounded checks that a run of 1,000 restarts leaves a short line, which has the last attempt and
// says how many others it leaves out.
func TestBriefIsBounded(t *testing.T) {
	b := briefOf(1000)
	require.LessOrEqual(t, len(b.all), mostBrief)
	line := b.Line(600)
	require.LessOrEqual(t, len(line), 600)
	all, omitted, ok := ParseBrief(line)
	require.True(t, ok)
	require.Greater(t, omitted, 990)
	last := all[len(all)-1]
	require.Equal(t, AttemptEnded, last.Kind)
	require.Equal(t, 1000, last.Attempt)
	require.Equal(t, omitted, all[0].Attempt, "whole attempts are left out")
	require.Empty(t, b.Line(100), "the last attempt does not fit")
	require.Empty(t, (&Brief{}).Line(1000))
}

// TestBriefOfALongRecord checks a record whose beginning was overwritten.
func TestBriefOfALongRecord(t *testing.T) {
	b := &Brief{}
	b.Take(Event{Time: noon, Kind: LinkLost, Attempt: 7})
	b.Take(Event{Time: noon.Add(5 * time.Second), Kind: AttemptEnded, Attempt: 7, Count: 3})
	all, omitted, ok := ParseBrief(b.Line(1000))
	require.True(t, ok)
	require.Equal(t, 7, omitted)
	require.Equal(t, 7, all[0].Attempt)
}

func TestParseBriefRefusesOtherText(t *testing.T) {
	const from = "events from 2026-03-01T12:00:00Z: "
	for _, line := range []string{
		"", "events", "events from yesterday: all-linked 2", strings.TrimSpace(from), from, from + "all-linked", from + "all-linked two", from + "all-linked -1",
		from + "all-linked 1e300", from + "all-linked NaN", from + "attempt-ended 1 code x", from + "attempt-ended 1 code 256", from + "all-linked 2, attempts left out -1",
		"goodput 60.4%: starting 10.0 s",
	} {
		_, _, ok := ParseBrief(line)
		require.False(t, ok, line)
	}
	all, _, ok := ParseBrief(from + "all-linked 2, gpu-throttled 3, attempt-ended 4 code 0")
	require.True(t, ok, "a kind of a later release is left out")
	require.Len(t, all, 2)
}

func FuzzParseBrief(f *testing.F) {
	f.Add(briefOf(1).Line(1000))
	f.Fuzz(func(t *testing.T, line string) {
		all, _, ok := ParseBrief(line)
		for _, e := range all {
			if !ok || !e.Kind.Known() || e.Time.IsZero() {
				t.Fatalf("%q: %v", line, e)
			}
		}
	})
}
