//go:build linux

package pid1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/suite/proc"
	"github.com/musterhq/muster/test/suite/program"
)

// agent is the path of the built binary.
var agent string

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		fmt.Fprintln(os.Stderr, "test/pid1:", become(role))
		os.Exit(99)
	}
	code, err := prepared(m)
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/pid1:", err)
		code = 1
	}
	os.Exit(code)
}

func prepared(m *testing.M) (code int, err error) {
	if os.Getuid() != 0 {
		return 1, errors.New("these tests make PID namespaces and other users' processes: run them as root")
	}
	dir, err := os.MkdirTemp("", "pid1")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Other users execute the agent.
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	agent = filepath.Join(dir, "agent")
	var flags []string
	if os.Getenv(raceEnv) != "" {
		flags = append(flags, "-race")
	}
	if err := program.Own(dir, flags, "agent"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// raceEnv is set to build the agent with the race detector.
const raceEnv = "PID1_TEST_RACE"

// roleEnv selects what this program becomes in its own namespace.
const roleEnv = "PID1_TEST_ROLE"

// become prepares the namespace and executes the program of the role. It returns only if that fails.
func become(role string) error {
	runtime.LockOSThread() // namespaces and credentials belong to the thread
	if err := os.Unsetenv(roleEnv); err != nil {
		return err
	}
	if role != "dial" {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			return err
		}
	}
	path := os.Getenv("AGENT")
	argv := append([]string{path, "worker"}, os.Args[1:]...)
	switch role {
	case "init", "join":
		if role == "join" {
			argv[1] = "join"
		}
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return err
		}
		if err := changeUser(); err != nil {
			return err
		}
		return syscall.Exec(path, argv, os.Environ())
	case "pause":
		// The PID 1 of a pod with shareProcessNamespace. It starts an unrelated process and the worker, and reaps
		// orphans.
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return err
		}
		script := `setsid sleep 1001 & "$AGENT" "$@" & wait $!; echo "worker ended $?"; while :; do sleep 1; done`
		return syscall.Exec("/bin/sh", append([]string{"sh", "-c", script, "pause"}, argv[1:]...), os.Environ())
	case "restricted":
		return restricted(argv[1:])
	case "dial":
		return dial(os.Args[1], int64(len(os.Args)))
	}
	return errors.New("no role " + role)
}

// userEnv is the uid to become before the agent is executed.
const userEnv = "PID1_TEST_USER"

func changeUser() error {
	uid, err := strconv.Atoi(os.Getenv(userEnv))
	if err != nil {
		return nil // no other user
	}
	return errors.Join(os.Unsetenv(userEnv), syscall.Setgroups(nil), syscall.Setresgid(uid, uid, uid), syscall.Setresuid(uid, uid, uid))
}

// patience is the time limit for things that take milliseconds on an idle machine.
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

// start starts a role. Its environment is PATH, the directory and env, and its arguments are those of `agent
// worker`. It ends with the test.
func start(t testing.TB, role string, env []string, args ...string) *worker {
	t.Helper()
	dir := shortDir(t)
	w := &worker{dir: dir, socket: filepath.Join(dir, names.WorkerSocket), out: &contract.Text{}, ended: make(chan struct{})}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "AGENT=" + agent, names.EnvDir + "=" + dir, roleEnv + "=" + role}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Setsid: true}
	cmd.Stdout, cmd.Stderr = w.out, w.out
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	w.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // the state has the result
		w.state = cmd.ProcessState
		close(w.ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(w.pid, syscall.SIGKILL) // this ends the namespace
		<-w.ended
		require.NotContains(t, w.out.String(), "DATA RACE")
		if t.Failed() {
			t.Logf("output of the worker:\n%s", w.out)
		}
	})
	return w
}

// shortDir makes a directory whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pid1-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// up waits until the worker listens.
func (w *worker) up(t testing.TB) *worker {
	t.Helper()
	waitFor(t, "worker listens: "+w.out.String(), func() bool { return strings.Contains(w.out.String(), "awaiting a launcher") })
	return w
}

// inside starts a worker as PID 1, with a launcher.
func inside(t testing.TB, flags ...string) (*worker, *link.Link) {
	t.Helper()
	w := start(t, "init", nil, flags...).up(t)
	return w, w.link(t, nil)
}

// empty waits until the worker has no descendants.
func (w *worker) empty(t testing.TB) {
	t.Helper()
	waitFor(t, "no process is left", func() bool { return len(below(t, w.pid)) == 0 })
}

// adopted counts the living children of pid with that name.
func adopted(t testing.TB, pid int, comm string) (n int) {
	for _, p := range below(t, pid) {
		if p.Alive() && p.Comm == comm && p.PPID == pid {
			n++
		}
	}
	return n
}

// end waits for the worker's end and returns its exit code, 128+n for a signal.
func (w *worker) end(t testing.TB) int {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(patience):
		require.FailNow(t, "the worker did not end", w.out.String())
	}
	return proc.Code(w.state)
}

// link opens a link that ends with the test.
func (w *worker) link(t testing.TB, change func(*link.Config)) *link.Link {
	return contract.NewLink(t, local.Dialer{Path: w.socket}, change)
}

// below returns all descendants of the process pid.
func below(t testing.TB, pid int) []reap.Proc {
	procs, err := reap.Scan(names.EnvSession)
	require.NoError(t, err)
	return reap.Below(procs, pid)
}

// commands returns the command lines of all descendants of the process pid.
func commands(t testing.TB, pid int) []string {
	var all []string
	for _, p := range below(t, pid) {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)); err == nil {
			all = append(all, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return all
}

// bounded returns a context that limits how long a test waits.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 5*time.Millisecond, what)
}

// run is a session with its output. Its stdin stays open until it ends.
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

// sh runs a line until it ends.
func sh(t testing.TB, l *link.Link, line string) (wire.ExitRecord, string) {
	t.Helper()
	r := open(t, l, wire.Spec{Line: line})
	rec := r.record(t)
	return rec, r.out.String()
}
