//go:build mpi

package fake

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/test/suite/hangs"
	"github.com/musterhq/muster/test/suite/proc"
)

// patience is the time limit of a run. It is not a measurement: machines may be busy.
const patience = 90 * time.Second

// call is one command line and its environment.
type call struct {
	argv   []string
	stdin  io.Reader // nil: /dev/null; a terminal becomes the controlling terminal
	env    []string
	dir    string // "": that of the tests
	shared bool   // use the default MUSTER_DIR
}

// job is a running call. The environment of all its processes has the mark.
type job struct {
	t      testing.TB
	cmd    *exec.Cmd
	mark   string
	dir    string // $MUSTER_DIR
	report string
	out    *proc.Output
	err    *proc.Output
	began  time.Time
	ended  chan struct{}
	code   int
}

// outcome is the result of a job.
type outcome struct {
	code     int
	out, err string
	took     time.Duration
	report   report.Report // empty if the call wrote none
}

// agentRun returns the call `agent run -- command` with flags and a report.
func agentRun(t testing.TB, flags []string, command ...string) call {
	argv := append([]string{"agent", "run", "--report", filepath.Join(t.TempDir(), "report.json")}, flags...)
	return call{argv: append(append(argv, "--"), command...)}
}

// start starts c. If it is still running when the test ends, it is killed.
func start(t testing.TB, c call) *job {
	t.Helper()
	j := &job{t: t, mark: rand.Text(), out: proc.NewOutput(), err: proc.NewOutput(), ended: make(chan struct{})}
	path := c.argv[0]
	if path == "agent" {
		path = filepath.Join(bin, "agent")
	}
	j.cmd = exec.Command(path, c.argv[1:]...)
	j.cmd.Dir, j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = c.dir, c.stdin, j.out, j.err
	if in, ok := c.stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	j.cmd.WaitDelay = 5 * time.Second // remaining processes may hold our pipes; remains names them
	env := append(proc.Environment(bin, "FAKE_TEST"), "FAKE_TEST="+j.mark)
	if !c.shared {
		j.dir = shortDir(t)
		env = append(env, "MUSTER_DIR="+j.dir)
	}
	j.cmd.Env = append(env, c.env...)
	for i, word := range c.argv {
		if word == "--report" {
			j.report = c.argv[i+1]
		}
	}
	j.began = time.Now()
	require.NoError(t, j.cmd.Start())
	go j.collect()
	t.Cleanup(j.cleanUp)
	return j
}

func (j *job) collect() {
	err := j.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) || err == nil || errors.Is(err, exec.ErrWaitDelay) {
		j.code = j.cmd.ProcessState.ExitCode()
	}
	j.out.Close()
	j.err.Close()
	close(j.ended)
}

// wait returns the outcome of a job that must leave no process behind.
func (j *job) wait() outcome {
	j.t.Helper()
	o := j.waitOnly()
	require.Empty(j.t, remains(j.mark), "processes left behind\n%s", o.err)
	if j.dir != "" {
		left, err := filepath.Glob(filepath.Join(j.dir, "fake-*"))
		require.NoError(j.t, err)
		require.Empty(j.t, left, "directories left behind")
	}
	return o
}

// waitOnly returns the outcome and does not check what is left.
func (j *job) waitOnly() outcome {
	j.t.Helper()
	select {
	case <-j.ended:
	case <-time.After(patience):
		require.FailNow(j.t, "the job hangs", "%q\nprocesses: %v\nstdout: %s\nstderr: %s",
			j.cmd.Args, remains(j.mark), tail(j.out.String()), tail(j.err.String()))
	}
	o := outcome{code: j.code, out: j.out.String(), err: j.err.String(), took: time.Since(j.began)}
	if dir := os.Getenv("MUSTER_OUT"); dir != "" && !hangs.Asked(j.cmd.Args) && !hangs.Asked(j.cmd.Env) {
		require.NoError(j.t, hangs.Note(dir, "fake", j.t.Name(), o.took, o.err))
	}
	if text, err := os.ReadFile(j.report); err == nil {
		require.NoError(j.t, json.Unmarshal(text, &o.report))
		require.Equal(j.t, o.code, o.report.Exit, "the report must have the same exit code")
	}
	return o
}

// cleanUp ends by pid what is left of a job whose test has failed.
func (j *job) cleanUp() {
	select {
	case <-j.ended:
	default:
		_ = j.cmd.Process.Kill()
	}
	proc.Wipe("FAKE_TEST=" + j.mark)
	<-j.ended
}

// up waits until each of n ranks has made its file up.N in dir.
func (j *job) up(dir string, n int) {
	j.t.Helper()
	for rank := range n {
		require.Eventually(j.t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "rank %d: %s", rank, j.err)
	}
}

func (j *job) signal(s syscall.Signal) {
	j.t.Helper()
	require.NoError(j.t, j.cmd.Process.Signal(s))
}

// run starts a call and waits for its outcome.
func run(t testing.TB, c call) outcome {
	t.Helper()
	return start(t, c).wait()
}

// wants requires the exit code, and shows the output if the code is different.
func (o outcome) wants(t testing.TB, code int) {
	t.Helper()
	require.Equal(t, code, o.code, "exit code\nstdout: %s\nstderr: %s", tail(o.out), tail(o.err))
}

// shortDir returns a private directory with a path that is short enough for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mf")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// freePort returns a free port of the loopback address.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func tail(text string) string {
	const most = 4000
	if len(text) <= most {
		return text
	}
	return "..." + text[len(text)-most:]
}

// await waits until text has been written. It fails if the process ends first, or the time limit is reached.
func await(t testing.TB, o *proc.Output, text string) {
	t.Helper()
	require.NoError(t, o.Await(text, patience), "%s", tail(o.String()))
}
