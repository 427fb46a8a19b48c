package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/archive"
)

// memory is a store in memory. It fails while broken is set.
type memory struct {
	took    time.Duration // by each Put and Get
	mu      sync.Mutex
	objects map[string][]byte
	puts    int
	broken  error
	bad     string // the object that cannot be read
}

// fail sets the error of all later calls; nil: none.
func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

func (m *memory) Put(_ context.Context, name string, body []byte) error {
	time.Sleep(m.took)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts++
	if m.broken != nil {
		return m.broken
	}
	m.objects[name] = bytes.Clone(body)
	return nil
}

func (m *memory) Get(_ context.Context, name string) (io.ReadCloser, error) {
	time.Sleep(m.took)
	m.mu.Lock()
	defer m.mu.Unlock()
	if name == m.bad {
		return nil, errors.New("internal error")
	}
	return io.NopCloser(bytes.NewReader(m.objects[name])), m.broken
}

func (m *memory) List(_ context.Context, prefix string, each func(string, int64) error) error {
	m.mu.Lock()
	objects, broken := maps.Clone(m.objects), m.broken // each may call the store
	m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if strings.HasPrefix(name, prefix) {
			if err := each(name, int64(len(objects[name]))); err != nil {
				return err
			}
		}
	}
	return broken
}

// run is a run that writes to dir: one attempt with some ranks.
type run struct {
	t   *testing.T
	dir string
	w   *archive.Writer
	out []io.WriteCloser
}

func begin(t *testing.T, dir, id string, ranks int) *run {
	w, err := archive.Open(dir, archive.Run{ID: id, Job: "bert"})
	require.NoError(t, err)
	r := &run{t: t, dir: dir, w: w}
	w.Begin(0)
	for rank := range ranks {
		out, complaints, err := w.Streams(archive.Process{Label: fmt.Sprint("rank ", rank), Rank: rank})
		require.NoError(t, err)
		require.NoError(t, complaints.Close())
		r.out = append(r.out, out)
	}
	return r
}

func (r *run) write(rank int, text string) {
	_, err := io.WriteString(r.out[rank], text)
	require.NoError(r.t, err)
}

func (r *run) end() {
	for _, out := range r.out {
		require.NoError(r.t, out.Close())
	}
	r.w.End(0, "")
	require.NoError(r.t, r.w.Close(0, ""))
}

// lines returns what agent logs would print of a directory, perhaps of one rank.
func lines(t *testing.T, dir string, rank ...*int) (text string) {
	t.Helper()
	x, err := archive.Read(dir)
	require.NoError(t, err)
	choice := archive.Choice{}
	for _, r := range rank {
		choice.Rank = r
	}
	require.NoError(t, x.Lines(choice, func(l archive.Line) error {
		text += fmt.Sprintf("%s: %s\n", l.Label, l.Text)
		return nil
	}))
	return text
}

// TestThereAndBack checks that a directory comes back as it was, whatever the mirror copied when, and although the
// mirror restarted in between.
func TestThereAndBack(t *testing.T) {
	dir, back := t.TempDir(), filepath.Join(t.TempDir(), "back")
	store := &memory{objects: map[string][]byte{}}
	r := begin(t, dir, "one", 2)
	r.write(0, "a\nhalf")
	m, err := NewMirror(t.Context(), store, dir)
	require.NoError(t, err)
	require.NoError(t, m.Pass(t.Context(), true))
	r.write(0, " a line\n")
	r.write(1, "b\n")
	require.NoError(t, m.Close(t.Context()))
	m, err = NewMirror(t.Context(), store, dir)
	require.NoError(t, err)
	before := store.puts
	require.NoError(t, m.Pass(t.Context(), true))
	require.Equal(t, before, store.puts, "nothing is copied twice")
	r.write(0, strings.Repeat("x", piece)+"\n")
	r.end()
	require.NoError(t, m.Close(t.Context()))

	names, err := Runs(t.Context(), store)
	require.NoError(t, err)
	require.Equal(t, []string{m.Name()}, names)
	require.NoError(t, Fetch(t.Context(), store, m.Name(), back, nil))
	require.Equal(t, lines(t, dir), lines(t, back))
	one := t.TempDir()
	require.NoError(t, Fetch(t.Context(), store, m.Name(), one, new(1)))
	require.Equal(t, "rank 1: b\n", lines(t, one, new(1)))
	require.NoFileExists(t, filepath.Join(one, "rank-0.out"), "only what is wanted")
	require.NoError(t, Fetch(t.Context(), store, m.Name(), t.TempDir(), new(7)), "no such rank: only the index")
	for _, name := range []string{"rank-0.out", "rank-1.out", archive.IndexName} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(back, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), name)
	}
	require.ErrorContains(t, Fetch(t.Context(), store, m.Name(), back, nil), "has the output of another run")
}

// TestAFileOfManyPieces checks that a file comes back in order and in time, although each request takes long: a rank that
// prints has 2,880 pieces a day.
func TestAFileOfManyPieces(t *testing.T) {
	dir, back := t.TempDir(), filepath.Join(t.TempDir(), "back")
	synctest.Test(t, func(t *testing.T) {
		store := &memory{objects: map[string][]byte{}}
		r := begin(t, dir, "one", 1)
		m, err := NewMirror(t.Context(), store, dir)
		require.NoError(t, err)
		for i := range 500 {
			r.write(0, strings.Repeat("x", i)+"\n")
			require.NoError(t, m.Pass(t.Context(), true))
		}
		r.end()
		require.NoError(t, m.Close(t.Context()))
		store.took = 100 * time.Millisecond
		began := time.Now()
		require.NoError(t, Fetch(t.Context(), store, m.Name(), back, new(0)))
		require.Less(t, time.Since(began), 5*time.Second)
		require.Equal(t, lines(t, dir), lines(t, back))

		store.bad, back = objectName(m.Name(), "rank-0.out", 4*5/2), filepath.Join(back, "again") // the fifth line
		require.ErrorContains(t, Fetch(t.Context(), store, m.Name(), back, new(0)), "internal error")
		text, err := os.ReadFile(filepath.Join(back, "rank-0.out"))
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 10)
		require.True(t, strings.HasPrefix("\nx\nxx\nxxx\n", string(text)), "no hole: %q", text)

		store.bad, back = objectName(m.Name(), archive.IndexName, 0), filepath.Join(back, "again")
		require.ErrorContains(t, Fetch(t.Context(), store, m.Name(), back, nil), "internal error")
		require.NoFileExists(t, filepath.Join(back, archive.IndexName))
	})
}

// TestTwoRuns checks that a run that begins in the same directory does not mix with the one before.
func TestTwoRuns(t *testing.T) {
	dir := t.TempDir()
	store := &memory{objects: map[string][]byte{}}
	one := begin(t, dir, "one", 1)
	m, err := NewMirror(t.Context(), store, dir)
	require.NoError(t, err)
	two := begin(t, dir, "two", 1)
	n, err := NewMirror(t.Context(), store, dir)
	require.NoError(t, err)
	one.write(0, "old\n")
	two.write(0, "new\n")
	one.end()
	two.end()
	require.NoError(t, errors.Join(m.Close(t.Context()), n.Close(t.Context())))
	for name, want := range map[string]string{m.Name(): "rank 0: old\n", n.Name(): "rank 0: new\n"} {
		back := t.TempDir()
		require.NoError(t, Fetch(t.Context(), store, name, back, nil))
		require.Equal(t, want, lines(t, back))
	}
}

// TestRequestsAreBounded checks that a thousand ranks that write all the time cause few requests, and that nothing waits
// longer than it must.
func TestRequestsAreBounded(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{objects: map[string][]byte{}}
		r := begin(t, dir, "one", 200)
		m, err := NewMirror(t.Context(), store, dir)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.Run(ctx, func(err error) { t.Error(err) }, func() {})
		}()
		const lasts = 10 * time.Minute
		for range int(lasts / (5 * time.Second)) {
			time.Sleep(5 * time.Second)
			synctest.Wait()
			for rank := range r.out {
				r.write(rank, "line\n")
			}
		}
		cancel()
		<-done
		require.LessOrEqual(t, store.puts, int(perSecond*lasts/time.Second))
		require.GreaterOrEqual(t, store.puts, 200*8)
		r.end()
		require.NoError(t, m.Close(t.Context()))
	})
}

// TestAStoreThatFails checks that a mirror tries again, and that a missing piece is reported.
func TestAStoreThatFails(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("no such bucket")
	store := &memory{objects: map[string][]byte{}, broken: broken}
	r := begin(t, dir, "one", 1)
	_, err := NewMirror(t.Context(), store, dir)
	require.ErrorIs(t, err, broken)
	store.fail(nil)
	m, err := NewMirror(t.Context(), store, dir)
	require.NoError(t, err)
	store.fail(broken)
	r.write(0, "a\n")
	require.ErrorIs(t, m.Pass(t.Context(), true), broken)
	store.fail(nil)
	require.NoError(t, m.Pass(t.Context(), true))
	r.write(0, "b\n")
	require.NoError(t, m.Pass(t.Context(), true))
	r.write(0, "c\n")
	r.end()
	require.NoError(t, m.Close(t.Context()))
	back := t.TempDir()
	delete(store.objects, objectName(m.Name(), "rank-0.out", 2))
	require.ErrorContains(t, Fetch(t.Context(), store, m.Name(), back, nil), "rank-0.out: bytes 2 to 4 are missing")
	require.Equal(t, "rank 0: a\n", lines(t, back))
	require.ErrorContains(t, Fetch(t.Context(), store, "run-no", t.TempDir(), nil), "not an index of output")
	_, err = NewMirror(t.Context(), store, t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Target{"s3://logs": {"logs", ""}, "s3://logs/": {"logs", ""}, "s3://logs/a/b/": {"logs", "a/b"}, "s3://logs//a/../b": {"logs", "b"}} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "logs", "s3:", "s3://", "s3:///a", "http://logs/a", "s3://u@logs/a", "s3://logs?a", "s3://logs#a", "s3://%", "s3://b", "s3://a..b", "s3://198.18.0.1/a"} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "s3://logs/a", Target{"logs", "a"}.String())
	_, err := Target{"logs", ""}.Open(Server{Endpoint: "ftp://x"})
	require.ErrorContains(t, err, "want a URL")
}

// TestAnIndexThatBegins checks that an index without a complete line is that of a run that has not begun to write, and
// that a file with other lines is none.
func TestAnIndexThatBegins(t *testing.T) {
	for text, begins := range map[string]bool{"": true, `{"kind":"ru`: true, "hello\n": false} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, archive.IndexName), []byte(text), 0o600))
		_, err := NewMirror(t.Context(), &memory{}, dir)
		require.Error(t, err)
		require.Equal(t, begins, errors.Is(err, os.ErrNotExist), "%q: %v", text, err)
	}
}
