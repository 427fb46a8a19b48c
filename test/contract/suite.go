//go:build linux

package contract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
)

// Way makes dialers to a worker's socket. Cut breaks every open connection, as a network would. Refuse answers 403
// to every new connection for the given time; it is nil if the way has no such answer. Worker changes the worker's
// configuration before it starts; nil changes nothing.
type Way struct {
	Worker func(*session.Config)
	Dialer func(t testing.TB, w *Worker) link.Dialer
	Cut    func()
	Refuse func(time.Duration)
}

// Suite runs the contract. way makes a new Way for each case.
func Suite(t *testing.T, way func(t testing.TB) Way) {
	cases := []struct {
		name string
		run  func(*testing.T, Way)
	}{
		{"exit codes 0 to 255", exitCodes},
		{"signals that end a process", endBySignal},
		{"stdin ends", stdinEnds},
		{"stdout closes, the process goes on", halfClose},
		{"64 MiB of binary output", binaryOutput},
		{"64 MiB of binary input", binaryInput},
		{"a signal is sent on", sendSignal},
		{"stop ends every process", stopSession},
		{"cancel of the caller leaves the session", cancelWait},
		{"a slow reader beside a fast one", slowBesideFast},
		{"command not found", notFound},
		{"cuts at random", randomCuts},
		{"403 for 2 s after each cut", refusedAfterCut},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, way(t)) })
	}
}

func open(t testing.TB, way Way) (*Worker, *link.Link) {
	w := NewWorker(t, way.Worker)
	return w, NewLink(t, way.Dialer(t, w), nil)
}

func exitCodes(t *testing.T, way Way) {
	_, l := open(t, way)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var sessions [256]*link.Session
	for code := range sessions {
		var err error
		spec := wire.Spec{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("exit %d", code)}}
		sessions[code], err = l.Open(ctx, "", spec, link.Streams{})
		require.NoError(t, err)
	}
	for code, s := range sessions {
		rec, err := s.Wait(ctx)
		require.NoError(t, err)
		require.Equal(t, code, rec.Code)
		require.Zero(t, rec.Signal)
	}
}

func endBySignal(t *testing.T, way Way) {
	_, l := open(t, way)
	for _, sig := range []syscall.Signal{1, 2, 3, 6, 9, 13, 14, 15} {
		rec := run(t, l, sh(fmt.Sprintf("kill -%d $$", sig)), nil, nil, nil)
		require.Equal(t, 128+int(sig), rec.Code)
		require.Equal(t, int(sig), rec.Signal)
	}
}

func stdinEnds(t *testing.T, way Way) {
	_, l := open(t, way)
	var out bytes.Buffer
	rec := run(t, l, sh("cat; echo end"), io.NopCloser(strings.NewReader("hello\n")), &out, nil)
	require.Zero(t, rec.Code)
	require.Equal(t, "hello\nend\n", out.String())
	out.Reset()
	run(t, l, sh("cat; echo end"), nil, &out, nil)
	require.Equal(t, "end\n", out.String(), "a session without stdin reads /dev/null")
}

func halfClose(t *testing.T, way Way) {
	_, l := open(t, way)
	var out, errs bytes.Buffer
	rec := run(t, l, sh("echo out; exec >&-; echo err >&2; cat >/dev/null; exit 3"),
		io.NopCloser(strings.NewReader("x")), &out, &errs)
	require.Equal(t, 3, rec.Code)
	require.Equal(t, "out\n", out.String())
	require.Equal(t, "err\n", errs.String())
}

const large = 64 << 20

// noise returns a stream of n bytes that depends only on seed.
func noise(seed uint64, n int64) io.Reader {
	return io.LimitReader(&chacha{rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})}, n)
}

type chacha struct{ *rand.ChaCha8 }

func sum(t testing.TB, r io.Reader) string {
	h := sha256.New()
	_, err := io.Copy(h, r)
	require.NoError(t, err)
	return fmt.Sprintf("%x", h.Sum(nil))
}

func binaryOutput(t *testing.T, way Way) {
	w, l := open(t, way)
	f, err := os.Create(w.Dir + "/data")
	require.NoError(t, err)
	_, err = io.Copy(f, noise(1, large))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	h := sha256.New()
	rec := run(t, l, sh("cat data"), nil, h, nil)
	require.Zero(t, rec.Code)
	require.EqualValues(t, large, rec.Stdout)
	require.Equal(t, sum(t, noise(1, large)), fmt.Sprintf("%x", h.Sum(nil)))
}

func binaryInput(t *testing.T, way Way) {
	_, l := open(t, way)
	var out bytes.Buffer
	rec := run(t, l, sh("sha256sum"), io.NopCloser(noise(2, large)), &out, nil)
	require.Zero(t, rec.Code)
	require.Equal(t, sum(t, noise(2, large)), strings.Fields(out.String())[0])
}

func sendSignal(t *testing.T, way Way) {
	_, l := open(t, way)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, out := io.Pipe()
	s, err := l.Open(ctx, "", sh("trap 'echo got it; exit 5' USR1; echo ready; while :; do sleep 0.05; done"), link.Streams{Stdout: out})
	require.NoError(t, err)
	line := make([]byte, 6)
	_, err = io.ReadFull(r, line)
	require.NoError(t, err)
	s.Signal(int(syscall.SIGUSR1))
	_, err = io.ReadFull(r, make([]byte, 7))
	require.NoError(t, err)
	rec, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, 5, rec.Code)
}

func stopSession(t *testing.T, way Way) {
	_, l := open(t, way)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, out := io.Pipe()
	// One process ignores TERM. The other one has left its session and process group.
	s, err := l.Open(ctx, "", sh("setsid sleep 1000 & echo $!; (trap '' TERM; while :; do sleep 0.1; done) & echo $!; echo ready; wait"), link.Streams{Stdout: out})
	require.NoError(t, err)
	var text strings.Builder
	for !strings.HasSuffix(text.String(), "ready\n") {
		b := make([]byte, 64)
		n, err := r.Read(b)
		require.NoError(t, err)
		text.Write(b[:n])
	}
	s.Stop(200 * time.Millisecond)
	rec, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, wire.ReasonStopped, rec.Reason)
	for _, pid := range strings.Fields(text.String())[:2] {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return gone(n) }, 10*time.Second, 10*time.Millisecond, "pid %d still runs", n)
	}
}

// gone reports whether a process has ended. A zombie counts as ended.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(b, []byte(") Z "))
}

func cancelWait(t *testing.T, way Way) {
	_, l := open(t, way)
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	pr, pw := io.Pipe()
	s, err := l.Open(ctx, "", sh("read x; echo $x"), link.Streams{Stdin: pr, Stdout: &out})
	require.NoError(t, err)
	cancel()
	_, err = s.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = pw.Write([]byte("still here\n"))
	require.NoError(t, err)
	rec, err := s.Wait(context.Background())
	require.NoError(t, err)
	require.Zero(t, rec.Code)
	require.Equal(t, "still here\n", out.String())
}

func notFound(t *testing.T, way Way) {
	_, l := open(t, way)
	rec := run(t, l, wire.Spec{Argv: []string{"no-such-program"}}, nil, nil, nil)
	require.Equal(t, 127, rec.Code)
	require.Contains(t, rec.Error, "no-such-program")
	rec = run(t, l, wire.Spec{Argv: []string{"/etc/passwd"}}, nil, nil, nil)
	require.Equal(t, 126, rec.Code)
	var errs bytes.Buffer
	rec = run(t, l, sh("no-such-program"), nil, nil, &errs)
	require.Equal(t, 127, rec.Code)
	require.Contains(t, errs.String(), "no-such-program")
}

// Worker is PID 1's side of a link, inside the test process.
type Worker struct {
	Dir    string // of its socket; sessions start here
	Socket string
	Server *session.Server
	Reaper *reap.Reaper // of the test process; a second worker must share it
}

// NewWorker starts a worker that ends with the test. Start it before the links to it, so that they end first.
func NewWorker(t testing.TB, change func(*session.Config)) *Worker {
	t.Helper()
	// The path of t.TempDir may be too long for a socket.
	dir, err := os.MkdirTemp("", "muster")
	require.NoError(t, err)
	w := &Worker{Dir: dir, Socket: filepath.Join(dir, "worker.sock")}
	cfg := session.Config{Version: "test", Slots: 1, Env: os.Environ(), Dir: dir, SpoolDirs: []string{dir},
		Log: slog.New(slog.NewTextHandler(logTo{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if change != nil {
		change(&cfg)
	}
	if cfg.Reaper == nil {
		cfg.Reaper = newReaper(t, func(pid int, st reap.Status) { w.Server.Orphaned(pid, st) })
	}
	w.Reaper = cfg.Reaper
	w.Server = session.New(cfg)
	ln, err := rundir.Listen(w.Socket)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Server.Serve(ctx, ln) }()
	t.Cleanup(func() {
		// Its launchers have gone, and a server waits 2 s for one to return. When the context ends, it does not.
		sctx, scancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer scancel()
		w.Server.Stop(sctx, wire.ReasonStopped, time.Second)
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, os.RemoveAll(dir))
	})
	return w
}

// newReaper starts the reaper of this process. It ends with the test.
func newReaper(t testing.TB, orphaned func(int, reap.Status)) *reap.Reaper {
	// This process adopts daemonized processes, as a real worker does.
	require.NoError(t, reap.Subreaper())
	reaper := reap.New()
	reaper.OnOrphan = orphaned
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- reaper.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return reaper
}

type logTo struct{ t testing.TB }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

// NewLink starts a link that ends with the test.
func NewLink(t testing.TB, d link.Dialer, change func(*link.Config)) *link.Link {
	t.Helper()
	cfg := link.Config{Worker: "w-0", Dialer: d, Gate: link.NewGate(),
		Hello: wire.HelloRecord{Version: "test", Epoch: wire.Epoch{Created: 1, UID: "launcher-a"}}}
	if change != nil {
		change(&cfg)
	}
	l := link.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.Run(ctx); err != nil {
			t.Logf("link: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return l
}

// run opens a session, waits for its end, and returns its record.
func run(t testing.TB, l *link.Link, spec wire.Spec, stdin io.ReadCloser, stdout, stderr io.Writer) wire.ExitRecord {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := l.Open(ctx, "", spec, link.Streams{Stdin: stdin, Stdout: stdout, Stderr: stderr})
	require.NoError(t, err)
	rec, err := s.Wait(ctx)
	require.NoError(t, err)
	return rec
}

func sh(line string) wire.Spec { return wire.Spec{Line: line} }
