package local_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// torchrun starts two ranks, like the program of that name. On TERM it sends TERM to the ranks and
// kills them after 0.2 s. The real torchrun waits 30 s.
const torchrun = `trap 'kill -TERM $ranks; sleep 0.2; kill -KILL $ranks; exit 1' TERM
rank() {
	RANK=$1 exec bash -c 'exec 3<> <(:); trap "read -t 1 <&3; touch saved.$RANK; exit 0" TERM; touch up.$RANK; while :; do sleep 0.1; done'
}
rank 0 & ranks=$!
rank 1 & ranks="$ranks $!"
wait $ranks; wait $ranks`

// stopsOf lists the ways to tell a worker to stop its sessions.
var stopsOf = map[string]func(ctx context.Context, w *contract.Worker, l *link.Link, s *link.Session) error{
	"CONTROL": func(_ context.Context, _ *contract.Worker, _ *link.Link, s *link.Session) error {
		s.Stop(20 * time.Second)
		return nil
	},
	"END": func(ctx context.Context, _ *contract.Worker, l *link.Link, _ *link.Session) error {
		return l.End(ctx, false, 20*time.Second)
	},
	"END of an attempt": func(ctx context.Context, _ *contract.Worker, l *link.Link, _ *link.Session) error {
		return l.End(ctx, true, 20*time.Second)
	},
	"drain": func(ctx context.Context, w *contract.Worker, _ *link.Link, _ *link.Session) error {
		w.Server.Preempt(ctx, syscall.SIGTERM, 20*time.Second)
		return nil
	},
}

// TestStopsLetRanksSave checks that every stop of a session tells its ranks to end before their
// launcher. The launcher would end them before the grace is over.
func TestStopsLetRanksSave(t *testing.T) {
	for name, stop := range stopsOf {
		t.Run(name, func(t *testing.T) {
			w, l := workerAndLink(t)
			s, err := l.Open(t.Context(), "", wire.Spec{Argv: []string{"/bin/bash", "-c", torchrun}}, link.Streams{Stdout: io.Discard})
			require.NoError(t, err)
			up := func() bool { return exists(w, "up.0") && exists(w, "up.1") }
			require.Eventually(t, up, time.Minute, 10*time.Millisecond)
			limit, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, stop(limit, w, l, s))
			_, err = s.Wait(limit)
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(w.Dir, "saved.0"))
			require.FileExists(t, filepath.Join(w.Dir, "saved.1"))
		})
	}
}

// TestStopsWithoutTheLauncherLetRanksSave checks the stops that no launcher asks for: a newer launcher
// has taken the worker, or the lease has ended. A rank has the grace that its launcher gave, in HELLO
// or in a stop that has begun. It can print while it saves its work, although nobody reads that.
func TestStopsWithoutTheLauncherLetRanksSave(t *testing.T) {
	const rank = `exec 3<> <(:); trap 'touch asked; for i in 1 2 3; do echo saving; echo saving >&2; read -t 0.2 <&3; done; touch saved; exit' TERM
touch up; while :; do read -t 0.1 <&3; done`
	newer := func(t *testing.T, w *contract.Worker, _ context.CancelFunc, _ *link.Session) {
		newer := linkTo(t, link.Config{Worker: "w", Dialer: local.Dialer{Path: w.Socket}, Hello: wire.HelloRecord{Epoch: wire.Epoch{Created: 2}}})
		require.Eventually(t, func() bool { return newer.State().Connected }, time.Minute, 10*time.Millisecond)
	}
	for name, c := range map[string]struct {
		grace time.Duration // in HELLO
		stop  func(t *testing.T, w *contract.Worker, cut context.CancelFunc, s *link.Session)
	}{
		"a newer launcher": {20 * time.Second, newer},
		"a newer launcher during a stop": {0, func(t *testing.T, w *contract.Worker, cut context.CancelFunc, s *link.Session) {
			s.Stop(20 * time.Second)
			require.Eventually(t, func() bool { return exists(w, "asked") }, time.Minute, time.Millisecond)
			newer(t, w, cut, s)
		}},
		"the lease": {20 * time.Second, func(t *testing.T, w *contract.Worker, cut context.CancelFunc, _ *link.Session) {
			cut()
			require.Eventually(t, func() bool { return w.Server.Sessions() == 0 }, time.Minute, 10*time.Millisecond)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := contract.NewWorker(t, func(c *session.Config) { c.Grace = 100 * time.Millisecond })
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			older := link.New(link.Config{Worker: "w", Dialer: local.Dialer{Path: w.Socket}, Lease: time.Second, PingEvery: 100 * time.Millisecond,
				Hello: wire.HelloRecord{Epoch: wire.Epoch{Created: 1}, GraceMillis: c.grace.Milliseconds()}})
			var running sync.WaitGroup
			running.Go(func() { _ = older.Run(ctx) }) // it is lost
			t.Cleanup(running.Wait)
			s, err := older.Open(ctx, "", wire.Spec{Argv: []string{"/bin/bash", "-c", rank}}, link.Streams{Stdout: io.Discard, Stderr: io.Discard})
			require.NoError(t, err)
			require.Eventually(t, func() bool { return exists(w, "up") }, time.Minute, 10*time.Millisecond)
			c.stop(t, w, cut, s)
			require.True(t, exists(w, "saved"), "the stop is over before the rank has saved")
		})
	}
}

// TestWorkerGivesUpWithUnreadOutput checks that a worker whose launcher is lost ends after the lease,
// although a session has more output than it can keep.
func TestWorkerGivesUpWithUnreadOutput(t *testing.T) {
	w := contract.NewWorker(t, func(c *session.Config) {
		c.Grace, c.Await, c.SpoolDirs = 100*time.Millisecond, time.Second, nil
	})
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	l := link.New(link.Config{Worker: "w", Dialer: local.Dialer{Path: w.Socket}, Lease: time.Second, PingEvery: 100 * time.Millisecond})
	var running sync.WaitGroup
	running.Go(func() { _ = l.Run(ctx) }) // it ends with ctx
	t.Cleanup(running.Wait)
	_, err := l.Open(ctx, "", wire.Spec{Line: "touch up; exec yes"}, link.Streams{Stdout: io.Discard})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return exists(w, "up") }, time.Minute, 10*time.Millisecond)
	cut()
	select {
	case outcome := <-w.Server.Outcome():
		require.Equal(t, session.NoLaunch, outcome)
	case <-time.After(30 * time.Second):
		t.Fatal("the worker waits for a launcher")
	}
}

// TestHelpersOfAFailedRankGetTheGrace checks a helper that a rank started to save its work. The
// helper must continue after the rank has failed, and the end of the attempt must wait for the
// helper.
func TestHelpersOfAFailedRankGetTheGrace(t *testing.T) {
	for name, line := range map[string]string{
		"takes TERM":      `(trap 'sleep 2; touch saved; exit' TERM; touch up; while :; do sleep 0.1; done) & until [ -e up ]; do sleep 0.1; done; exit 3`,
		"ignores TERM":    `(trap '' TERM; touch up; sleep 2; touch saved) & until [ -e up ]; do sleep 0.1; done; exit 3`,
		"killed rank":     `(trap '' TERM; touch up; sleep 2; touch saved) & until [ -e up ]; do sleep 0.1; done; kill -KILL $$`,
		"without handler": `sh -c 'touch up; sleep 2; touch saved' & exit 3`,
		"in its own session": `setsid sh -c 'trap "" TERM; touch up; sleep 2; touch saved' >/dev/null 2>&1 </dev/null &
until [ -e up ]; do sleep 0.1; done; exit 3`,
	} {
		t.Run(name, func(t *testing.T) {
			w, l := workerAndLink(t)
			s, err := l.Open(t.Context(), "", wire.Spec{Argv: []string{"/bin/bash", "-c", line}, EndsOnFailure: true}, link.Streams{Stdout: io.Discard})
			require.NoError(t, err)
			limit, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			exit, err := s.Wait(limit)
			require.NoError(t, err)
			require.NotZero(t, exit.Code)
			require.False(t, exists(w, "saved"), "the failure is reported before the helper ends")
			require.NoError(t, l.End(limit, true, time.Second))
			require.True(t, exists(w, "saved"))
		})
	}
}

func exists(w *contract.Worker, name string) bool {
	_, err := os.Stat(filepath.Join(w.Dir, name))
	return err == nil
}

// workerAndLink returns a worker with a grace of 10 s, and a link to it.
func workerAndLink(t *testing.T) (*contract.Worker, *link.Link) {
	t.Helper()
	w := contract.NewWorker(t, func(c *session.Config) { c.Grace = 10 * time.Second })
	return w, linkTo(t, link.Config{Worker: "w", Dialer: local.Dialer{Path: w.Socket}})
}
