package event

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC)

func TestEventIsOneShortObject(t *testing.T) {
	for want, e := range map[string]Event{
		`{"time":"2026-03-01T12:00:00.005Z","kind":"linked","attempt":0,"worker":"w-0","node":"n"}`:        {Time: noon, Kind: Linked, Worker: "w-0", Node: "n", Rank: NoRank},
		`{"time":"2026-03-01T12:00:00.005Z","kind":"first-line","attempt":2,"worker":"w-0","rank":0}`:      {Time: noon, Kind: FirstLine, Attempt: 2, Worker: "w-0"},
		`{"time":"2026-03-01T12:00:00.005Z","kind":"run-ended","attempt":0,"detail":"a\"b\n","count":143}`: {Time: noon, Kind: RunEnded, Rank: NoRank, Detail: "a\"b\n", Count: 143},
	} {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		var back Event
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, e, back)
	}
}

// TestAppendIsWhatJSONWrites compares the text of events with that of encoding/json.
func TestAppendIsWhatJSONWrites(t *testing.T) {
	zero, seven, east := 0, 7, time.FixedZone("east", 3600)
	for _, text := range []string{"", "plain", `"`, `\`, "a<b>&c", "\x00\n\x7f", "Größe", "\u2028", "\xff\xfe", "~ "} {
		for _, f := range []form{
			{Time: noon, Kind: Kind(text), Worker: text},
			{Time: noon.In(east), Kind: Linked, Attempt: 12, Node: text, Rank: &zero},
			{Time: time.Unix(1, 123456789).UTC(), Kind: RankEnded, Attempt: -1, Detail: text, Rank: &seven, Count: -3},
			{Kind: RunEnded, Cause: text, Count: 143},
		} {
			e := Event{Time: f.Time, Kind: f.Kind, Attempt: f.Attempt, Worker: f.Worker, Node: f.Node, Rank: NoRank, Detail: f.Detail, Cause: f.Cause, Count: f.Count}
			if f.Rank != nil {
				e.Rank = *f.Rank
			}
			f.Time = f.Time.UTC()
			want, err := json.Marshal(f)
			require.NoError(t, err)
			got, err := e.Append([]byte("before "))
			require.NoError(t, err)
			require.Equal(t, "before "+string(want), string(got))
		}
	}
	late := Event{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Kind: Linked}
	for _, e := range []Event{late, {Time: late.Time, Other: map[string]json.RawMessage{"gpu": []byte("1")}}} {
		line, err := e.Append([]byte("before "))
		require.ErrorContains(t, err, "encode event: ")
		require.Equal(t, "before ", string(line))
	}
}

// TestNewerEventsSurvive checks that a kind and a field that this release does not know are kept.
func TestNewerEventsSurvive(t *testing.T) {
	const line = `{"attempt":1,"gpu":{"model":"B300"},"kind":"gpu-throttled","time":"2026-03-01T12:00:00Z","worker":"w-1"}`
	all, skipped, err := Read(strings.NewReader(line + "\n"))
	require.NoError(t, err)
	require.Zero(t, skipped)
	require.False(t, all[0].Kind.Known())
	require.Equal(t, "w-1", all[0].Worker)
	require.Equal(t, NoRank, all[0].Rank)
	text, err := json.Marshal(all[0])
	require.NoError(t, err)
	require.JSONEq(t, line, string(text))
}

func TestRead(t *testing.T) {
	const whole = `{"time":"2026-03-01T12:00:00Z","kind":"linked","worker":"w-0"}` + "\n"
	for name, c := range map[string]struct {
		text    string
		events  int
		skipped int
		none    bool
	}{
		"whole":                   {whole + whole, 2, 0, false},
		"a torn last line":        {whole + whole[:30], 1, 1, false},
		"torn before a new run":   {whole + whole[:30] + "\n" + whole, 2, 1, false},
		"empty lines":             {"\n" + whole + "\n\n", 1, 0, false},
		"an endless line":         {whole + strings.Repeat("x", longest+1), 1, 1, false},
		"nothing":                 {"", 0, 0, true},
		"a program's output":      {"step 1\nstep 2\n", 0, 2, true},
		"JSON without a time":     {`{"kind":"linked"}` + "\n", 0, 1, true},
		"JSON that is a report":   {`{"exit":0,"workers":3}` + "\n", 0, 1, true},
		"one endless line":        {strings.Repeat("x", longest+1), 0, 0, true},
		"a kind that is a number": {`{"time":"2026-03-01T12:00:00Z","kind":3}` + "\n", 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			all, skipped, err := Read(strings.NewReader(c.text))
			require.Len(t, all, c.events)
			require.Equal(t, c.skipped, skipped)
			if c.none {
				require.ErrorIs(t, err, ErrNone)
				require.False(t, Ours([]byte(c.text)))
				return
			}
			require.NoError(t, err)
		})
	}
	require.True(t, Ours([]byte(whole)))
	require.True(t, Ours([]byte(whole[:len(whole)-1])))
	require.False(t, Ours(nil))
}

// TestTableHasEachKindOnce checks that no kind has two entries, and that each has a sentence.
func TestTableHasEachKindOnce(t *testing.T) {
	seen := map[Kind]bool{}
	for _, a := range Table() {
		require.False(t, seen[a.Kind], a.Kind)
		seen[a.Kind] = true
		require.True(t, strings.HasSuffix(a.Means, "."), a.Kind)
		require.Contains(t, []string{OfRun, OfWorker, OfRank}, a.Of)
		require.True(t, a.Kind.Known())
	}
	require.False(t, Kind("gpu-throttled").Known())
}

func FuzzRead(f *testing.F) {
	f.Add(`{"time":"2026-03-01T12:00:00Z","kind":"linked","worker":"w-0","x":[1]}`)
	f.Fuzz(func(t *testing.T, text string) {
		all, _, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, e := range all {
			line, err := json.Marshal(e)
			if err != nil {
				continue // a year beyond 9999
			}
			var back Event
			if err := json.Unmarshal(line, &back); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	})
}
