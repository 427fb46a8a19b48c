//go:build linux

package pid1

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// exitCodes runs 256 sessions, 16 at a time, and requires each session's own exit code.
func exitCodes(t *testing.T, l *link.Link) {
	ctx := bounded(t)
	codes := make(chan int)
	go func() {
		for code := range 256 {
			codes <- code
		}
		close(codes)
	}()
	var wrong [256]string
	var runs sync.WaitGroup
	for range 16 {
		runs.Go(func() {
			for code := range codes {
				s, err := l.Open(t.Context(), "", wire.Spec{Line: "exit " + strconv.Itoa(code)}, link.Streams{})
				if err != nil {
					wrong[code] = err.Error()
					continue
				}
				if rec, err := s.Wait(ctx); err != nil || rec.Code != code || rec.Signal != 0 {
					wrong[code] = fmt.Sprintf("%+v, %v", rec, err)
				}
			}
		})
	}
	runs.Wait()
	for code, what := range wrong {
		require.Empty(t, what, "exit %d", code)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	exitCodes(t, start(t, "init", nil).up(t).link(t, nil))
}

// TestEndBySignal sends each signal to a program without handlers.
func TestEndBySignal(t *testing.T) {
	t.Parallel()
	w, l := inside(t)
	seen := map[int]bool{}
	for _, row := range rows(t, "signals") {
		for _, word := range strings.Fields(row[0]) {
			n, err := strconv.Atoi(word)
			require.NoError(t, err)
			seen[n] = true
			s := open(t, l, wire.Spec{Line: "echo ready; exec sleep 1000"})
			s.says(t, "ready\n")
			s.Signal(n)
			switch row[1] {
			case "128+n":
			case "stands still until SIGCONT":
				find := func(state byte) func() bool {
					return func() bool {
						return slices.ContainsFunc(below(t, w.pid), func(p reap.Proc) bool { return p.Marker == s.ID() && p.State == state })
					}
				}
				waitFor(t, "stopped", find('T'))
				s.Signal(int(syscall.SIGCONT))
				waitFor(t, "going on", find('S'))
				fallthrough
			default:
				// The signal did not end the process, so the code is that of this KILL: signals are delivered in
				// order.
				n = int(syscall.SIGKILL)
				s.Signal(n)
			}
			rec := s.record(t)
			require.Equal(t, 128+n, rec.Code, "signal %s", word)
			require.Equal(t, n, rec.Signal, "signal %s", word)
			require.Empty(t, rec.Reason)
		}
	}
	require.Len(t, seen, 31)
	rec, _ := sh(t, l, "exit 137")
	require.Equal(t, 137, rec.Code)
	require.Zero(t, rec.Signal, "an exit code of 137 is not a signal")
}

// TestDispositions checks that sessions start as from a shell, whatever signals PID 1 handles, ignores or blocks.
func TestDispositions(t *testing.T) {
	t.Parallel()
	l := start(t, "init", nil).up(t).link(t, nil)
	rec, out := sh(t, l, "cat /proc/self/status; ulimit -n")
	require.Zero(t, rec.Code)
	const none = "0000000000000000"
	for _, set := range []string{"SigPnd", "SigBlk", "SigCgt"} {
		require.Contains(t, out, set+":\t"+none+"\n")
	}
	// Signals that this process ignores, for example under nohup, stay ignored.
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	ignored := regexp.MustCompile(`(?m)^SigIgn:.*\n`).FindString(string(status))
	require.NotEmpty(t, ignored)
	require.Contains(t, out, ignored, "the signals that the worker ignored when it started")
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	soft, err := strconv.ParseUint(lines[len(lines)-1], 10, 64)
	require.NoError(t, err)
	require.LessOrEqual(t, soft, limit.Cur, "sessions do not inherit the larger limit that Go sets")
}

// lease returns a link with a lease of one second. Its launcher vanishes when left is called.
func (w *worker) lease(t *testing.T) (l *link.Link, left func()) {
	l = link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: w.socket}, Lease: time.Second,
		PingEvery: 100 * time.Millisecond, Hello: wire.HelloRecord{Version: "test", Epoch: wire.Epoch{Created: 1, UID: "a"}}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, func() { cancel(); require.NoError(t, <-done) }
}

// TestEscapedProcessEndsWithTheLease checks that the end of the lease ends a process that escaped from its session,
// after that session has ended.
func TestEscapedProcessEndsWithTheLease(t *testing.T) {
	t.Parallel()
	w := start(t, "init", nil, "--grace", "1s").up(t)
	l, left := w.lease(t)
	rec, _ := sh(t, l, `env -i setsid sh -c '(sleep 1005 >/dev/null 2>&1 &)'; exit 3`)
	require.Equal(t, 3, rec.Code)
	time.Sleep(1500 * time.Millisecond) // more than a lease, with a launcher
	require.NotEmpty(t, below(t, w.pid))
	left()
	w.empty(t)
	select {
	case <-w.ended:
		require.Fail(t, "the worker ended too")
	default:
	}
	rec, _ = sh(t, w.link(t, nil), "exit 8")
	require.Equal(t, 8, rec.Code)
}

// TestProcesses tests what sessions leave behind and what does not end by itself: the session's record is right,
// and no process is left.
func TestProcesses(t *testing.T) {
	t.Parallel()
	stop := func(grace time.Duration) func(*testing.T, *worker, run) {
		return func(t *testing.T, _ *worker, s run) {
			s.says(t, "ready\n")
			s.Stop(grace)
		}
	}
	for _, row := range []struct {
		name, line string
		meanwhile  func(*testing.T, *worker, run)
		want       wire.ExitRecord
		reason     string
		says       string // the end of its output
		daemons    int    // processes that outlive the session
	}{
		// The code of the first process counts. The daemon runs until it is stopped, even without the environment
		// of the session.
		{"daemon", `setsid sh -c '(sleep 1002 >/dev/null 2>&1 &)' >/dev/null 2>&1; exit 3`,
			nil, wire.ExitRecord{Code: 3, Detached: true}, "", "", 1},
		{"daemon without environment", `env -i setsid sh -c '(sleep 1002 >/dev/null 2>&1 &)' >/dev/null 2>&1; exit 3`,
			nil, wire.ExitRecord{Code: 3}, "", "", 1},
		{"child that ignores TERM", `trap "" TERM; (trap "" TERM; setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done') & wait; while :; do wait; sleep 1; done`,
			stop(300 * time.Millisecond), wire.ExitRecord{Code: 137, Signal: int(syscall.SIGKILL)}, wire.ReasonStopped, "ready\n", 0},
		// As with ssh, a session lasts as long as a process holds its output.
		{"child that holds stdout", `sh -c 'trap "echo last words; exit 0" USR1; echo ready $$; while :; do sleep 0.01; done' & exit 4`,
			lastWords, wire.ExitRecord{Code: 4}, "", "\nlast words\n", 0},
		{"child that would hold stdout forever", `(trap "" TERM; echo ready; while :; do sleep 1; done) & exit 5`,
			stop(100 * time.Millisecond), wire.ExitRecord{Code: 5}, "", "ready\n", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w, l := inside(t, "--grace", "1s")
			s := open(t, l, wire.Spec{Line: row.line})
			if row.meanwhile != nil {
				row.meanwhile(t, w, s)
			}
			rec := s.record(t)
			require.Equal(t, row.want, wire.ExitRecord{Code: rec.Code, Signal: rec.Signal, Detached: rec.Detached})
			require.Contains(t, rec.Reason, row.reason)
			require.True(t, strings.HasSuffix(s.out.String(), row.says), s.out)
			if row.daemons > 0 {
				waitFor(t, "the daemon is PID 1's child", func() bool { return adopted(t, w.pid, "sleep") == row.daemons })
			} else {
				w.empty(t)
			}
			require.NoError(t, l.End(bounded(t), true, time.Second))
			w.empty(t)
			require.NoError(t, l.End(bounded(t), false, time.Second))
			require.Zero(t, w.end(t))
		})
	}
}

// lastWords makes the child that holds the output of a session write, once that child is alone.
func lastWords(t *testing.T, w *worker, s run) {
	waitFor(t, "ready", func() bool { return strings.Count(s.out.String(), "\n") == 1 })
	child := reap.Proc{}
	waitFor(t, "its parent has ended", func() bool {
		for _, p := range below(t, w.pid) {
			if p.Marker == s.ID() && p.PPID == w.pid && p.Comm == "sh" {
				child = p
				return len(below(t, w.pid)) <= 2
			}
		}
		return false
	})
	require.False(t, s.Arrived(), "a session must not end while its output is held")
	require.NoError(t, reap.Signal(child, syscall.SIGUSR1))
}

// orphans ends four processes that have n unreaped children together. PID 1 gets the children in bursts, while
// other sessions end with every code.
func orphans(t *testing.T, w *worker, n int) {
	l := w.link(t, nil)
	// A shell that does not wait for its children leaves zombies, which become orphans when it ends.
	line := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do : & i=$((i+1)); done; echo forked; exit 77`, n/4)
	var parents []run
	for range 4 {
		parents = append(parents, open(t, l, wire.Spec{Line: line}))
	}
	exitCodes(t, l)
	for _, s := range parents {
		require.Equal(t, 77, s.record(t).Code)
		require.Equal(t, "forked\n", s.out.String())
	}
	w.empty(t) // no zombie is left
	require.NoError(t, syscall.Kill(w.pid, syscall.SIGTERM))
	require.Contains(t, []int{0, 143}, w.end(t))
}

func TestTenThousandOrphans(t *testing.T) {
	t.Parallel()
	orphans(t, start(t, "init", nil).up(t), 10_000)
}

func TestOneProcessor(t *testing.T) {
	t.Parallel()
	w := start(t, "init", []string{"GOMAXPROCS=1"}).up(t)
	orphans(t, w, 1_000)
}

// TestSharedNamespace runs a worker that is not PID 1, as in a pod that shares its PID namespace.
func TestSharedNamespace(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]struct {
		how  func(t *testing.T, w *worker, pid int)
		says string
	}{
		"told to stop": {func(t *testing.T, _ *worker, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGTERM)) }, "worker ended 143"},
		"job is over": {func(t *testing.T, w *worker, _ int) {
			require.NoError(t, w.link(t, nil).End(bounded(t), false, time.Second))
		}, "worker ended 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, "pause", nil, "--grace", "2s").up(t)
			pid, strangers := 0, 0
			for _, p := range below(t, w.pid) {
				if p.Comm == "agent" {
					pid = p.PID
				} else {
					strangers++
				}
			}
			require.NotZero(t, pid)
			require.Positive(t, strangers)
			l := w.link(t, nil)
			exitCodes(t, l)
			for _, daemon := range []string{
				`setsid sh -c '(sleep 1003 >/dev/null 2>&1 &)'; exit 6`,
				`env -i setsid sh -c '(sleep 1003 >/dev/null 2>&1 &)'; exit 6`,
			} {
				rec, _ := sh(t, l, daemon)
				require.Equal(t, 6, rec.Code)
			}
			waitFor(t, "both daemons are the worker's children", func() bool { return adopted(t, pid, "sleep") == 2 })
			s := open(t, l, wire.Spec{Line: fmt.Sprintf(`%s; : & : & exec sleep 1004`, "echo ready")})
			s.says(t, "ready\n")
			stop.how(t, w, pid)
			waitFor(t, "the worker ends", func() bool { return strings.Contains(w.out.String(), "worker ended ") })
			require.Contains(t, w.out.String(), stop.says)
			said := commands(t, w.pid)
			require.NotContains(t, said, "sleep 1003")
			require.NotContains(t, said, "sleep 1004")
			require.Contains(t, said, "sleep 1001", "a process outside the worker must survive")
		})
	}
}

// TestEndsOfTheLauncher checks that a worker ends everything when its launcher says so, with an exit code that says
// whether another pod has to take its place.
func TestEndsOfTheLauncher(t *testing.T) {
	t.Parallel()
	for code, end := range map[int]func(*link.Link) error{
		0:  func(l *link.Link) error { return l.End(bounded(t), false, time.Second) },
		94: func(l *link.Link) error { return l.Replace(bounded(t), "", time.Second) },
	} {
		w := start(t, "pause", nil).up(t)
		l := w.link(t, nil)
		rec, _ := sh(t, l, `env -i setsid sh -c '(sleep 1006 >/dev/null 2>&1 &)'; exit 3`)
		require.Equal(t, 3, rec.Code)
		require.NoError(t, end(l))
		waitFor(t, "the worker ends", func() bool { return strings.Contains(w.out.String(), fmt.Sprintf("worker ended %d", code)) })
		require.NotContains(t, commands(t, w.pid), "sleep 1006")
	}
}

// TestNoLauncherReturns checks that a worker that no launcher claims again ends all processes of the last launcher.
func TestNoLauncherReturns(t *testing.T) {
	t.Parallel()
	w := start(t, "pause", nil, "--await", "2s", "--grace", "1s").up(t)
	l, left := w.lease(t)
	rec, _ := sh(t, l, `env -i setsid sh -c '(sleep 1006 >/dev/null 2>&1 &)'; exit 3`)
	require.Equal(t, 3, rec.Code)
	left()
	waitFor(t, "the worker ends", func() bool { return strings.Contains(w.out.String(), "worker ended 75") })
	said := commands(t, w.pid)
	require.NotContains(t, said, "sleep 1006")
	require.Contains(t, said, "sleep 1001", "a process outside the worker must survive")
}
