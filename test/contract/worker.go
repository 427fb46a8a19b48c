//go:build linux

package contract

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
)

// Worker is PID 1's side, run within the test process.
type Worker struct {
	Dir    string // of its socket; sessions start here
	Socket string
	Server *session.Server
	Reaper *reap.Reaper // of the test's process: a second worker must share it
}

// NewWorker starts a worker that ends with the test; it must be started before
// the links to it, so that they end first.
func NewWorker(t testing.TB, change func(*session.Config)) *Worker {
	t.Helper()
	// A test's own directory may be too long for a socket's path.
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
		sctx, scancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer scancel()
		w.Server.Stop(sctx, wire.ReasonStopped, time.Second)
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, os.RemoveAll(dir))
	})
	return w
}

// newReaper starts the process's reaper; it ends with the test.
func newReaper(t testing.TB, orphaned func(int, reap.Status)) *reap.Reaper {
	// As for a real worker: what daemonizes comes to this process.
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
