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

// exitCodes runs 256 sessions, 16 at a time, and wants each one's own code.
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
				// It lives, so this is what ends it: signals are carried out in order.
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
	require.Zero(t, rec.Signal, "told from a program that was killed")
}

// Whatever PID 1 takes, drops or blocks, its sessions start as from a shell.
func TestDispositions(t *testing.T) {
	t.Parallel()
	l := start(t, "init", nil).up(t).link(t, nil)
	rec, out := sh(t, l, "cat /proc/self/status; ulimit -n")
	require.Zero(t, rec.Code)
	const none = "0000000000000000"
	for _, set := range []string{"SigPnd", "SigBlk", "SigCgt"} {
		require.Contains(t, out, set+":\t"+none+"\n")
	}
	// Signals that this process was told to ignore, under nohup for one, stay ignored.
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	ignored := regexp.MustCompile(`(?m)^SigIgn:.*\n`).FindString(string(status))
	require.NotEmpty(t, ignored)
	require.Contains(t, out, ignored, "as the worker itself was started")
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	soft, err := strconv.ParseUint(lines[len(lines)-1], 10, 64)
	require.NoError(t, err)
	require.LessOrEqual(t, soft, limit.Cur, "Go's own larger limit is not handed on")
}

// lease starts a launcher that vanishes, and with it its lease of a second, when left
// is called.
func (w *worker) lease(t *testing.T) (l *link.Link, left func()) {
	l = link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: w.socket}, Lease: time.Second,
		PingEvery: 100 * time.Millisecond, Hello: wire.HelloRecord{Version: "test", Epoch: wire.Epoch{Created: 1, UID: "a"}}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, func() { cancel(); require.NoError(t, <-done) }
}

// What has escaped from its session, and that has ended, goes with the lease.
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
		require.Fail(t, "the worker ended, too")
	default:
	}
	rec, _ = sh(t, w.link(t, nil), "exit 8")
	require.Equal(t, 8, rec.Code)
}

// TestProcesses plays what a session leaves behind, or what does not end: which record
// it gets, and that nothing is left.
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
		says       string // its last line
		daemons    int    // that outlive it
	}{
		// The first process's code counts, and the daemon lives until it is stopped,
		// also one that hides its environment.
		{"daemon", `setsid sh -c '(sleep 1002 >/dev/null 2>&1 &)' >/dev/null 2>&1; exit 3`,
			nil, wire.ExitRecord{Code: 3, Detached: true}, "", "", 1},
		{"daemon without environment", `env -i setsid sh -c '(sleep 1002 >/dev/null 2>&1 &)' >/dev/null 2>&1; exit 3`,
			nil, wire.ExitRecord{Code: 3}, "", "", 1},
		{"child that ignores TERM", `trap "" TERM; (trap "" TERM; setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done') & wait; while :; do wait; sleep 1; done`,
			stop(300 * time.Millisecond), wire.ExitRecord{Code: 137, Signal: int(syscall.SIGKILL)}, wire.ReasonStopped, "ready\n", 0},
		// As with ssh, a session lasts as long as somebody holds its output.
		{"child that holds stdout", `sh -c 'trap "echo last words; exit 0" USR1; echo ready $$; while :; do sleep 0.01; done' & exit 4`,
			lastWords, wire.ExitRecord{Code: 4}, "", "\nlast words\n", 0},
		{"child that would hold stdout for ever", `(trap "" TERM; echo ready; while :; do sleep 1; done) & exit 5`,
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

// lastWords has the child speak that holds the output of a session, once it is alone.
func lastWords(t *testing.T, w *worker, s run) {
	waitFor(t, "ready", func() bool { return strings.Count(s.out.String(), "\n") == 1 })
	child := reap.Proc{}
	waitFor(t, "its parent is gone", func() bool {
		for _, p := range below(t, w.pid) {
			if p.Marker == s.ID() && p.PPID == w.pid && p.Comm == "sh" {
				child = p
				return len(below(t, w.pid)) <= 2
			}
		}
		return false
	})
	require.False(t, s.Arrived(), "no end while the output is held")
	require.NoError(t, reap.Signal(child, syscall.SIGUSR1))
}

// orphans ends four processes with n uncollected children together, which come
// to PID 1 in bursts, while other sessions end with every code.
func orphans(t *testing.T, w *worker, n int) {
	l := w.link(t, nil)
	// A shell that waits for nobody leaves zombies; they become orphans with its end.
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

// Where the pod shares its PID namespace the worker is somebody's child.
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
			require.Contains(t, said, "sleep 1001", "somebody else's process lives on")
		})
	}
}

// A worker that no launcher claims again leaves nothing of the last one behind.
func TestNobodyComesBack(t *testing.T) {
	t.Parallel()
	w := start(t, "pause", nil, "--await", "2s", "--grace", "1s").up(t)
	l, left := w.lease(t)
	rec, _ := sh(t, l, `env -i setsid sh -c '(sleep 1006 >/dev/null 2>&1 &)'; exit 3`)
	require.Equal(t, 3, rec.Code)
	left()
	waitFor(t, "the worker ends", func() bool { return strings.Contains(w.out.String(), "worker ended 75") })
	said := commands(t, w.pid)
	require.NotContains(t, said, "sleep 1006")
	require.Contains(t, said, "sleep 1001", "somebody else's process lives on")
}
