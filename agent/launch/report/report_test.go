package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/rendezvous"
)

func TestSummary(t *testing.T) {
	for want, r := range map[string]Report{
		"finished in 1.5 s on 4 workers, exit code 0": {RunMS: 1500, Workers: 4, Sessions: 4, LinksHeld: 4},
		"finished in 61 s on 4 workers, exit code 0; 2 links redialed 3 times, longest gap 3.4 s": {
			RunMS: 61000, Workers: 4, Sessions: 8, LinksHeld: 1, Redials: 3, Redialled: 2, GapsMS: []int64{20, 3400, 1}},
		"ended after 0.0 s on 1 worker, exit code 76; 2 attempts, 1 worker lost, 1 link redialed, longest gap 0.2 s": {
			Exit: 76, Workers: 1, Sessions: 1, Redials: 1, Redialled: 1, GapsMS: []int64{200}, Lost: []verdict.Lost{{Worker: "w", Cause: "x"}}, Attempts: make([]retry.Tried, 2)},
		"finished in 100 s on 2 workers, exit code 0; 2 attempts, goodput 93.1%": {RunMS: 100000, Workers: 2, Attempts: make([]retry.Tried, 2), Story: Story{Goodput: goodput.Account{goodput.Productive: 186.2, goodput.Lost: 13.8}}},
		"ended after 100 s on 2 workers, exit code 3":                            {Exit: 3, RunMS: 100000, Workers: 2, Story: Story{Goodput: goodput.Account{goodput.Unknown: 200}}},
	} {
		require.Equal(t, want, r.Summary(false))
	}
	r := Report{RunMS: 1500, Workers: 4, Sessions: 8, LinksHeld: 4}
	require.Equal(t, "finished in 1.5 s on 4 workers, exit code 0; 8 sessions, 4 links held, 0 redials", r.Summary(true))
}

func TestReportFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, Report{Exit: 3, Redials: 1, GapsMS: []int64{7}, LinksHeld: 2}.Save(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.EqualValues(t, 3, got["exit"])
	require.EqualValues(t, 1, got["redials"])
	require.EqualValues(t, 2, got["links_held"])
	require.Equal(t, []any{7.0}, got["gaps_ms"])
	require.Equal(t, []any{}, got["lost"], "an empty list, never null")
	require.ErrorContains(t, Report{}.Save("/nonexistent/r.json"), "write report: ")
}

// TestMessageFits writes reports as the termination message. However long its lists are, it is whole JSON
// that the kubelet reads.
func TestMessageFits(t *testing.T) {
	long := Report{Exit: 76, Why: strings.Repeat("<", 9000), Redials: 3000}
	for i := range 3000 {
		long.GapsMS = append(long.GapsMS, int64(i))
		long.Lost = append(long.Lost, verdict.Lost{Worker: fmt.Sprintf("train-worker-%d", i), Cause: "its node is lost"})
		long.Stopped = append(long.Stopped, StoppedRank{Rank: fmt.Sprintf("rank %d", i)})
	}
	gaps := Report{Redials: 300, GapsMS: long.GapsMS[2000:2300]}
	for name, c := range map[string]struct {
		report Report
		cut    bool
		gaps   int
	}{
		"an ordinary run":        {report: Report{GapsMS: []int64{7, 3000}}, gaps: 2},
		"300 gaps fit":           {report: gaps, gaps: 300},
		"3,000 gaps":             {report: Report{GapsMS: long.GapsMS}, cut: true, gaps: 256},
		"everything is too long": {report: long, cut: true, gaps: 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, c.report.SaveMessage(path))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), 4096)
			var got message
			require.NoError(t, json.Unmarshal(text, &got))
			require.Equal(t, c.cut, got.Cut)
			require.Equal(t, c.report.Redials, got.Redials)
			require.Len(t, got.GapsMS, c.gaps)
			if c.gaps > 0 {
				require.Equal(t, c.report.longestGap(), got.longestGap())
			}
			require.True(t, Ours(text), "a later run may replace it")
		})
	}
}

func TestLastWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, Report{}.LastWords(path, 1, "x", ""))
	require.NoFileExists(t, path, "outside of a pod, no file is created")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("old"), 5000), 0o600))
	require.NoError(t, Report{}.LastWords(path, 76, "worker w-1 lost: gone", ""))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "worker w-1 lost: gone (exit code 76)\n", string(text))
	require.NoError(t, Report{}.LastWords(path, 76, strings.Repeat("ü", 4000), ""))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, len(text), 4096)
	require.True(t, strings.HasSuffix(string(text), "ü... (exit code 76)\n"))
}

// TestLastWordsOfAttempts checks that the termination message keeps why earlier attempts failed,
// even if the last attempt succeeded.
func TestLastWordsOfAttempts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	first := retry.Tried{Code: 3, Why: "worker w-1: rank 1, pi (pid 9), exited with 3;\nmpirun exited with 3", Words: "Traceback\n  boom"}
	require.NoError(t, Report{Attempts: []retry.Tried{first, {Attempt: 1, Code: 76, Why: "worker w-0 lost: evicted"}, {Attempt: 2}}}.LastWords(path, 0, "", ""))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "the command ended (exit code 0)\n"+
		"earlier attempt 0 (exit code 3): worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3\n"+
		"\tTraceback\n\t  boom\n"+
		"earlier attempt 1 (exit code 76): worker w-0 lost: evicted\n", string(text))

	require.NoError(t, Report{Attempts: []retry.Tried{{Attempt: 0, Code: 3, Why: "boom"}, {Attempt: 1}}, Story: Story{Goodput: goodput.Account{goodput.Productive: 30, goodput.Lost: 10}}}.LastWords(path, 0, "", ""))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "the command ended (exit code 0)\ngoodput 75.0%: productive 30.0 s, lost 10.0 s\nearlier attempt 0 (exit code 3): boom\n", string(text))

	var brief event.Brief
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	brief.Take(event.Event{Time: at, Kind: event.RunStarted})
	brief.Take(event.Event{Time: at.Add(9 * time.Second), Kind: event.AttemptEnded, Count: 3, Cause: "oom"})
	r := Report{Attempts: []retry.Tried{{Code: 3, Why: "boom"}, {Attempt: 1}}, Story: Story{Goodput: goodput.Account{goodput.Productive: 30}, Brief: brief}}
	const events = "events from 2026-03-01T12:00:00Z: attempt-ended 9.0 code 3 oom\n"
	require.NoError(t, r.LastWords(path, 3, "boom", ""))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "boom (exit code 3)\ngoodput 100.0%: productive 30.0 s\n"+events+"earlier attempt 0 (exit code 3): boom\n", string(text))
	require.NoError(t, r.LastWords(path, 3, strings.Repeat("ü", 1800), ""))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), events, "the words come first")
	require.Contains(t, string(text), "goodput 100.0%")
	require.Less(t, len(text), 4096)

	long := retry.Tried{Code: 3, Why: strings.Repeat("ü", 3000)}
	require.NoError(t, Report{Attempts: []retry.Tried{long, long, long, long, long, long, long, long}}.LastWords(path, 3, long.Why, long.Why))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, len(text), 4096)
	require.Contains(t, string(text), "\nearlier attempt 0 (exit code 3): ü")
}

// TestWorkersThatTookPart checks that the last line counts every worker once, including workers
// that joined or that took part in another attempt only.
func TestWorkersThatTookPart(t *testing.T) {
	var r Report
	named := func(names ...string) (list []rendezvous.Worker) {
		for _, name := range names {
			list = append(list, rendezvous.Worker{Name: name})
		}
		return list
	}
	for _, attempt := range [][]rendezvous.Worker{named("w-0", "w-1"), named("w-0", "w-2"), named("w-1", "w-2", "w-3")} {
		r.TookPart(attempt)
	}
	require.Contains(t, r.Summary(false), "on 4 workers")
}
