//go:build linux

package pid1

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
)

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
	waitFor(t, "no zombie is left", func() bool { return len(below(t, w.pid)) == 0 })
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
			waitFor(t, "both daemons are the worker's children", func() bool {
				n := 0
				for _, p := range below(t, pid) {
					if p.Comm == "sleep" && p.PPID == pid {
						n++
					}
				}
				return n == 2
			})
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
	l := link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: w.socket}, Lease: time.Second,
		Hello: wire.HelloRecord{Version: "test", Epoch: wire.Epoch{Created: 1, UID: "a"}}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	rec, _ := sh(t, l, `env -i setsid sh -c '(sleep 1006 >/dev/null 2>&1 &)'; exit 3`)
	require.Equal(t, 3, rec.Code)
	cancel()
	require.NoError(t, <-done)
	waitFor(t, "the worker ends", func() bool { return strings.Contains(w.out.String(), "worker ended 75") })
	said := commands(t, w.pid)
	require.NotContains(t, said, "sleep 1006")
	require.Contains(t, said, "sleep 1001", "somebody else's process lives on")
}
