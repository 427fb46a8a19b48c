//go:build linux

package export

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/reap"
)

// said collects what the user sees.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start runs a shell script in place of the program. A process may have only one Reaper, so these tests
// run one after the other.
func start(t *testing.T, script string) (*Exporter, *said) {
	t.Helper()
	r := reap.New()
	ctx, stop := context.WithCancel(context.Background())
	var reaping sync.WaitGroup
	reaping.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() { stop(); reaping.Wait() })
	s := &said{}
	e, err := Start(Config{Reaper: r, Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(), Attempt: func() int { return 3 },
		Voice: &console.Voice{Out: s}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close(context.Background()) })
	return e, s
}

func TestProgramGetsEveryEventInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "got")
	e, s := start(t, "cat > '"+path+"'")
	var want strings.Builder
	for range 3000 {
		e.Take([]byte(`{"kind":"linked"}`))
		want.WriteString(`{"kind":"linked"}` + "\n")
	}
	e.Close(t.Context())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got))
	require.Empty(t, s.String())
	e.Take([]byte("late")) // after the end: ignored
	e.Close(t.Context())
}

func TestSamplesComeFromEverySource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "got")
	e, _ := start(t, "cat > '"+path+"'")
	e.Sample() // nothing to tell
	e.Measure("output", func(s *event.Sample) { s.OutputBytes = 1 })
	e.Measure("output", func(s *event.Sample) { s.OutputBytes = 7 })
	e.Measure("waiting", func(s *event.Sample) { s.Waiting = map[string]int{"Missing": 2} })
	e.Sample()
	e.Close(t.Context())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	var one event.Event
	require.NoError(t, json.Unmarshal(got, &one))
	require.Equal(t, 3, one.Attempt)
	s, ok := event.SampleOf(one)
	require.True(t, ok)
	require.Equal(t, event.Sample{OutputBytes: 7, Waiting: map[string]int{"Missing": 2}}, s)
}

// TestOneWarning checks that the first problem of the program is said with its hint, and nothing more,
// whatever else it prints and however it ends.
func TestOneWarning(t *testing.T) {
	for name, row := range map[string]struct{ script, want string }{
		"a problem with a hint":  {`printf 'agent-exporter: no luck\nhint: try again\nand more\n' >&2; exit 3`, "agent: agent-exporter: no luck\nhint: try again\n"},
		"a problem":              {`echo 'agent-exporter: no luck' >&2; cat >/dev/null; echo more >&2`, "agent: agent-exporter: no luck\n"},
		"an end without a word":  {`exit 3`, "agent: agent-exporter ended with exit code 3: the run goes on without metrics and traces\nhint: if the kernel killed it for its memory, raise the memory limit of the launcher's container\n"},
		"killed":                 {`kill -KILL $$`, "agent: agent-exporter ended with exit code 137: the run goes on without metrics and traces\nhint: if the kernel killed it for its memory, raise the memory limit of the launcher's container\n"},
		"a line without its end": {`printf 'agent-exporter: cut' >&2`, "agent: agent-exporter: cut\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := start(t, row.script)
			require.Eventually(t, func() bool { return strings.HasSuffix(s.String(), "\n") }, 10*time.Second, time.Millisecond)
			for range 100 {
				e.Take([]byte("{}")) // nobody reads it
			}
			e.Close(t.Context())
			require.Equal(t, row.want, s.String())
		})
	}
}

// TestStuckProgramDelaysTheEndByTheLimit checks that a program which neither reads nor ends is killed.
func TestStuckProgramDelaysTheEndByTheLimit(t *testing.T) {
	e, s := start(t, "exec sleep 1000")
	e.flushTime = 50 * time.Millisecond
	for range 10000 {
		e.Take([]byte(`{"kind":"linked","worker":"a-worker-of-a-long-name"}`))
	}
	e.Close(t.Context())
	require.Equal(t, "agent: agent-exporter had not ended 50ms after the run: the last metrics and spans may be missing\n"+
		"hint: check that the collector at OTEL_EXPORTER_OTLP_ENDPOINT answers\n", s.String())
	require.Equal(t, 137, e.proc.Status().Code)
}

func TestSignalEndsTheWait(t *testing.T) {
	e, _ := start(t, "exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Close(ctx)
	require.Equal(t, 137, e.proc.Status().Code)
}

func TestMissingProgramIsAnError(t *testing.T) {
	_, err := Start(Config{Reaper: reap.New(), Path: filepath.Join(t.TempDir(), Program), Voice: &console.Voice{Out: &said{}}, Log: slog.New(slog.DiscardHandler)})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNilExporterDoesNothing(*testing.T) {
	var e *Exporter
	e.Measure("output", nil)
	e.Sample()
	e.Close(context.Background())
}

// TestFullQueueDropsAndCounts checks that adding never blocks, and that the reader learns how many events
// are missing.
func TestFullQueueDropsAndCounts(t *testing.T) {
	q, line := newQueue(), bytes.Repeat([]byte("x"), 1000)
	const added = 3000
	for range added {
		q.add(line)
	}
	require.Less(t, len(q.lines), mostPending)
	lines := bytes.Split(bytes.TrimSpace(q.take(time.Unix(7, 0))), []byte("\n"))
	var last event.Event
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &last))
	require.Equal(t, event.Event{Time: time.Unix(7, 0).UTC(), Kind: event.Dropped, Rank: event.NoRank, Count: added - len(lines) + 1}, last)
	require.Empty(t, q.take(time.Unix(8, 0)))
	q.close()
	q.close()
	q.add(line)
	require.Empty(t, q.lines)
}

func TestPath(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(filepath.Dir(self), Program), Path(filepath.Join(dir, "agent")), "where to put it")
	want := filepath.Join(dir, Program)
	require.NoError(t, os.WriteFile(want, nil, 0o700))
	require.Equal(t, want, Path(filepath.Join(dir, "agent")))
}
