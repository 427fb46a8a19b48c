//go:build linux

package pid1

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// patience is for what takes milliseconds, on a machine that is busy.
const patience = 40 * time.Second

// worker is a running `agent worker` in a PID namespace of its own.
type worker struct {
	dir    string // $MUSTER_DIR
	socket string
	pid    int // of the namespace's first process, as this test sees it
	out    *contract.Text
	ended  chan struct{}
	state  *os.ProcessState // after ended
}

// start runs a role with env besides PATH and the directory; it ends with the
// test. args are those of `agent worker`.
func start(t testing.TB, role string, env []string, args ...string) *worker {
	t.Helper()
	dir, err := os.MkdirTemp("", "pid1-")
	require.NoError(t, err)
	w := &worker{dir: dir, socket: filepath.Join(dir, names.WorkerSocket), out: &contract.Text{}, ended: make(chan struct{})}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "AGENT=" + agent, names.EnvDir + "=" + dir, roleEnv + "=" + role}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Setsid: true}
	cmd.Stdout, cmd.Stderr = w.out, w.out
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	w.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // the state says it
		w.state = cmd.ProcessState
		close(w.ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(w.pid, syscall.SIGKILL) // it ends the namespace
		<-w.ended
		require.NoError(t, os.RemoveAll(dir))
		require.NotContains(t, w.out.String(), "DATA RACE")
		if t.Failed() {
			t.Logf("the worker said:\n%s", w.out)
		}
	})
	return w
}

// up waits until the worker listens.
func (w *worker) up(t testing.TB) *worker {
	t.Helper()
	waitFor(t, "worker listens: "+w.out.String(), func() bool { return strings.Contains(w.out.String(), "awaiting a launcher") })
	return w
}

// end waits for the worker's end and returns its exit code, 128+n for a signal.
func (w *worker) end(t testing.TB) int {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(patience):
		require.FailNow(t, "the worker does not end", w.out.String())
	}
	ws := w.state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// link opens a link that ends with the test.
func (w *worker) link(t testing.TB, change func(*link.Config)) *link.Link {
	return contract.NewLink(t, local.Dialer{Path: w.socket}, change)
}

// below is everything that descends from the process pid.
func below(t testing.TB, pid int) []reap.Proc {
	procs, err := reap.Scan(names.EnvSession)
	require.NoError(t, err)
	return reap.Below(procs, pid)
}

// commands are the command lines of everything that descends from pid.
func commands(t testing.TB, pid int) []string {
	var all []string
	for _, p := range below(t, pid) {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)); err == nil {
			all = append(all, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return all
}

// bounded is for waits that must not outlast the test.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 5*time.Millisecond, what)
}

// run is a session with its output; stdin stays open until the end.
type run struct {
	*link.Session
	out  *contract.Text
	open io.WriteCloser
}

func open(t testing.TB, l *link.Link, spec wire.Spec) run {
	t.Helper()
	r, w := io.Pipe()
	out := &contract.Text{}
	s, err := l.Open(t.Context(), "", spec, link.Streams{Stdin: r, Stdout: out, Stderr: out})
	require.NoError(t, err)
	return run{s, out, w}
}

func (r run) record(t testing.TB) wire.ExitRecord {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rec, err := r.Wait(ctx)
	require.NoError(t, err)
	return rec
}

// says waits until the session's output is want.
func (r run) says(t testing.TB, want string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.out.String()) >= len(want) }, patience, 2*time.Millisecond, "output %q", want)
	require.Equal(t, want, r.out.String())
}

// sh runs a line to its end.
func sh(t testing.TB, l *link.Link, line string) (wire.ExitRecord, string) {
	t.Helper()
	r := open(t, l, wire.Spec{Line: line})
	rec := r.record(t)
	return rec, r.out.String()
}
