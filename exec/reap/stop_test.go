//go:build linux

package reap

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// polite is a shell line that handles TERM and then exits with 0. It has no children.
const polite = `trap 'echo asked; exit 0' TERM; echo ready; read x`

func TestStop(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	for _, c := range []struct {
		name   string
		line   string
		before func(*Process)
		grace  time.Duration
		want   Report // without Scans and Left
		code   int
	}{
		{"nothing there", "", nil, time.Minute, Report{}, 0},
		{"handles TERM", polite, nil, time.Minute, Report{Found: 1, Asked: 1}, 0},
		{"ignores TERM", `trap '' TERM; echo ready; read x`, nil, 50 * time.Millisecond, Report{Found: 1, Asked: 1, Killed: 1}, 137},
		{"no grace", polite, nil, 0, Report{Found: 1, Killed: 1}, 137},
		{"is stopped", polite, func(p *Process) { halt(t, p) }, time.Minute, Report{Found: 1, Asked: 1}, 0},
		{"is stopped and ignores TERM", `trap '' TERM; echo ready; read x`, func(p *Process) { halt(t, p) },
			50 * time.Millisecond, Report{Found: 1, Asked: 1, Killed: 1}, 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p *Process
			if c.line != "" {
				p, _ = sh(t, r, "s1", c.line, true)
			}
			if c.before != nil {
				c.before(p)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			got, err := r.Stop(ctx, finder("s1"), c.grace)
			require.NoError(t, err)
			require.GreaterOrEqual(t, got.Scans, 2)
			require.Zero(t, got.Left)
			got.Scans = 0
			require.Equal(t, c.want, got)
			if p != nil {
				require.Equal(t, c.code, p.Status().Code)
			}
			empty(t, 1)
		})
	}
}

func halt(t *testing.T, p *Process) {
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	waitFor(t, "stopped", func() bool {
		procs, err := Scan(markEnv)
		require.NoError(t, err)
		return pick(procs, p.PID())[0].stopped()
	})
}

// TestStopOfAForkingSession checks that a session that starts new processes on TERM is still
// stopped completely.
func TestStopOfAForkingSession(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	line := `again() { trap '' TERM; (setsid sh -c 'trap "" TERM; sleep 300' &); again2; }
again2() { for i in 1 2 3 4 5; do sleep 0.01; (sleep 300 &); done; }
trap again TERM; echo ready; read x; read x; sleep 300`
	_, _ = sh(t, r, "s1", line, true)
	tree := NewTree(markEnv, "s1")
	report, err := r.Stop(t.Context(), tree.Find, 300*time.Millisecond)
	require.NoError(t, err)
	require.Greater(t, report.Found, 3)
	empty(t, 1)
	waitFor(t, "all collected", func() bool {
		procs, err := Scan(markEnv)
		require.NoError(t, err)
		return len(Below(procs, 1)) == 0
	})
}

// TestDrainAsksRanksFirst checks that the rank is signaled first, and its daemon only when the rank
// has ended. A rank that does not end delays the daemon only until the last fifth of the grace.
func TestDrainAsksRanksFirst(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	// A shell gives its background children /dev/null as stdin, hence descriptor 3.
	const daemon = `exec 3<&0; trap 'echo daemon asked; kill -9 $!; exit 0' TERM
sh -c '%s; echo ready; read x <&3' &
wait; read y <&3`
	for _, c := range []struct {
		name, rank string
		sig        syscall.Signal
		grace      time.Duration
		least      time.Duration // minimum duration
		says       []string
	}{
		{"rank ends", `trap "echo rank asked; sleep 0.3; echo rank ends; exit 0" TERM`, syscall.SIGTERM, time.Minute, 0,
			[]string{"rank asked\n", "rank ends\n", "daemon asked\n"}},
		{"rank stays", `trap "" TERM`, syscall.SIGTERM, 4 * time.Second, 3200 * time.Millisecond,
			[]string{"daemon asked\n"}},
		{"rank ends on HUP", `trap "echo rank quits; exit 0" HUP; trap "" TERM`, syscall.SIGHUP, time.Minute, 0,
			[]string{"rank quits\n", "daemon asked\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, out := sh(t, r, "s1", fmt.Sprintf(daemon, c.rank), true)
			begin := time.Now()
			got, err := r.Drain(t.Context(), finder("s1"), c.sig, c.grace)
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(begin), c.least)
			for _, line := range c.says {
				require.Equal(t, line, readLine(t, out))
			}
			require.Zero(t, p.Status().Code)
			require.Equal(t, 2, got.Asked)
			require.Zero(t, got.Killed)
			empty(t, 1)
		})
	}
}

// TestDrainSendsTERMAtHalfTime checks that a rank that does not end on the drain's signal gets TERM
// after half of the grace.
func TestDrainSendsTERMAtHalfTime(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	p, out := sh(t, r, "s1", `trap "" INT; trap "echo asked; exit 5" TERM; echo ready; while :; do read x; done`, true)
	begin := time.Now()
	got, err := r.Drain(t.Context(), finder("s1"), syscall.SIGINT, 2*time.Second)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begin), time.Second)
	require.Equal(t, "asked\n", readLine(t, out))
	require.Equal(t, 5, p.Status().Code)
	require.Equal(t, 1, got.Asked)
	require.Zero(t, got.Killed)
}

func TestStopEndsWithItsContext(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	p, _ := sh(t, r, "s1", `trap '' TERM; echo ready; read x`, true)
	drain := func(ctx context.Context, find func() ([]Proc, error), grace time.Duration) (Report, error) {
		return r.Drain(ctx, find, syscall.SIGTERM, grace)
	}
	for _, stop := range []func(context.Context, func() ([]Proc, error), time.Duration) (Report, error){r.Stop, drain} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		report, err := stop(ctx, finder("s1"), time.Minute)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, report.Left)
	}
	_, err := r.Stop(t.Context(), func() ([]Proc, error) { return nil, os.ErrPermission }, 0)
	require.ErrorIs(t, err, os.ErrPermission)
	require.NoError(t, p.Signal(syscall.SIGKILL))
	<-p.Done()
}

// TestSignalComparesTheStart checks that a process gets no signal if it only has the pid of a
// scanned process that has ended.
func TestSignalComparesTheStart(t *testing.T) {
	r := running(t)
	p, _ := sh(t, r, "s1", polite, true)
	procs, err := Scan(markEnv)
	require.NoError(t, err)
	other := pick(procs, p.PID())[0]
	other.Start++
	require.ErrorIs(t, Signal(other, syscall.SIGKILL), os.ErrProcessDone)
	other.Start--
	require.NoError(t, Signal(other, syscall.SIGTERM))
	require.Zero(t, p.Status().Code, "TERM arrived, KILL did not")
	require.ErrorIs(t, Signal(other, syscall.SIGKILL), os.ErrProcessDone)
}

// TestProcessOfAnotherUser checks that an unreadable environment is no error. If a process may not
// be signaled, the stop returns an error instead of running forever.
func TestProcessOfAnotherUser(t *testing.T) {
	require.Zero(t, os.Getuid(), "this test gives up root: run it as root")
	r := running(t)
	target, _ := sh(t, r, "s1", polite, true)
	out, w, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	_, err = r.Start(Spec{Path: "/proc/self/exe", Files: []*os.File{nil, w, os.Stderr},
		Env: []string{helperEnv + "=stranger", fmt.Sprintf("TARGET=%d", target.PID())}})
	require.NoError(t, err)
	w.Close()
	var got struct {
		Seen       []Proc
		Scan, Stop string
		Left       int
	}
	require.NoError(t, json.NewDecoder(out).Decode(&got))
	require.Equal(t, "<nil>", got.Scan)
	require.Len(t, got.Seen, 1)
	require.Empty(t, got.Seen[0].Marker)
	require.Equal(t, "sh", got.Seen[0].Comm)
	require.Equal(t, fmt.Sprintf("signal pid %d (sh): operation not permitted", target.PID()), got.Stop)
	require.Equal(t, 1, got.Left)
	require.NoError(t, target.Signal(syscall.SIGTERM))
	require.Zero(t, target.Status().Code)
}

// TestStopSparesSavingProcesses checks that a process that a rank starts to save its work, when the
// rank is signaled, is left alone, even if the rank ends first.
func TestStopSparesSavingProcesses(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	for name, line := range map[string]string{
		"rank waits": `trap 'sh -c "sleep 1; echo saved"; exit 0' TERM; echo ready; read x`,
		"rank ends":  `trap 'sh -c "sleep 1; echo saved" & exit 0' TERM; echo ready; read x`,
	} {
		for way, stop := range map[string]func(context.Context, func() ([]Proc, error), time.Duration) (Report, error){
			"stop": r.Stop,
			"drain": func(ctx context.Context, find func() ([]Proc, error), grace time.Duration) (Report, error) {
				return r.Drain(ctx, find, syscall.SIGTERM, grace)
			},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				_, out := sh(t, r, "s1", line, true)
				tree := NewTree(markEnv, "s1")
				got, err := stop(t.Context(), tree.Find, 20*time.Second)
				require.NoError(t, err)
				require.Equal(t, "saved\n", readLine(t, out))
				require.Zero(t, got.Killed)
				require.Equal(t, 1, got.Asked)
				empty(t, 1)
			})
		}
	}
}

// TestDrainAsksLaunchersLast checks that a launcher that kills its ranks when it is signaled does
// not interrupt their saving. The helper of a rank is not signaled before its rank ends.
func TestDrainAsksLaunchersLast(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	program := filepath.Join(t.TempDir(), "program") // a shell with another name
	require.NoError(t, os.Symlink("/bin/bash", program))
	p, out := sh(t, r, "s1", `exec 3<&0; trap 'echo launcher asked; kill -9 $rank; exit 4' TERM
RANK=0 `+program+` -c 'sh -c "trap \"echo helper asked; exit\" TERM; echo up; read x <&3" &
trap "sleep 0.5; kill -0 $! && echo helper lives; echo saved; exit" TERM; echo ready; while :; do read -t 0.1 x <&3; done' &
rank=$!
wait; read y <&3`, false)
	for range 2 {
		require.Contains(t, []string{"up\n", "ready\n"}, readLine(t, out))
	}
	got, err := r.Drain(t.Context(), finder("s1"), syscall.SIGTERM, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "helper lives\n", readLine(t, out))
	require.Equal(t, "saved\n", readLine(t, out))
	require.ElementsMatch(t, []string{"helper asked\n", "launcher asked\n"}, []string{readLine(t, out), readLine(t, out)})
	require.Equal(t, 4, p.Status().Code)
	require.Zero(t, got.Killed)
	empty(t, 1)
}

// TestRest checks that the remaining processes of a failed process have the full grace. A process
// that was started just before the failure may run until the last fifth of the grace.
func TestRest(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	for _, c := range []struct {
		name, line string
		grace      time.Duration
		says       string
		killed     int
	}{
		{"ends slowly on TERM", `sh -c 'trap "sleep 1; echo saved; exit" TERM; echo ready; read x' <&3 & sleep 0.5; exit 3`, time.Minute, "saved\n", 0},
		{"started just before the end", `sleep 0.5; echo ready; sh -c 'sleep 1; echo saved' & exit 3`, time.Minute, "saved\n", 0},
		{"does not end", `sh -c 'trap "" TERM; echo ready; read x' <&3 & sleep 0.5; exit 3`, time.Second, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, out := sh(t, r, "s1", "exec 3<&0; "+c.line, true)
			require.Equal(t, 3, p.Status().Code)
			begin := time.Now()
			got, err := r.Rest(t.Context(), finder("s1"), begin.Add(-300*time.Millisecond), c.grace)
			require.NoError(t, err)
			require.Less(t, time.Since(begin), 10*time.Second)
			if c.says != "" {
				require.Equal(t, c.says, readLine(t, out))
			}
			require.Equal(t, c.killed, got.Killed)
			empty(t, 1)
		})
	}
}

// TestDrainAsksHelpersBeforeLaunchers checks that a helper that outlives its rank may save before
// its launcher is signaled, because the launcher might kill it.
func TestDrainAsksHelpersBeforeLaunchers(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	dir := t.TempDir()
	for _, name := range []string{"torchrun", "program"} { // shells with other names
		require.NoError(t, os.Symlink("/bin/bash", filepath.Join(dir, name)))
	}
	const stay = "\nmkfifo $$; exec 3<>$$; while :; do read -t 0.1 x <&3; done\n"
	for name, text := range map[string]string{
		"launcher.sh": "trap 'echo launcher asked; exit 4' TERM\nRANK=0 ./program rank.sh &" + stay,
		"rank.sh":     "trap 'echo rank asked; exit' TERM\n./program helper.sh &" + stay,
		"helper.sh":   "trap 'sleep 0.5; echo helper saved; exit' TERM\necho ready" + stay,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	p, out := sh(t, r, "s1", "cd "+dir+" && exec ./torchrun launcher.sh", true)
	tree := NewTree(markEnv, "s1")
	tree.Add(p)
	got, err := r.Drain(t.Context(), tree.Find, syscall.SIGTERM, time.Minute)
	require.NoError(t, err)
	for _, line := range []string{"rank asked\n", "helper saved\n", "launcher asked\n"} {
		require.Equal(t, line, readLine(t, out))
	}
	require.Equal(t, 4, p.Status().Code)
	require.Zero(t, got.Killed)
	empty(t, 1)
}
