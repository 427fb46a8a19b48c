//go:build linux

package reap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const (
	insideEnv = "REAP_TEST_INSIDE" // this process is PID 1 of a new namespace
	helperEnv = "REAP_TEST_HELPER" // this process is a program under test
	markEnv   = "MUSTER_SESSION"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) == "stranger" {
		stranger()
	}
	goleak.VerifyTestMain(m)
}

// inside runs the calling test again as PID 1 of a new PID namespace. It returns true there, and
// false in the outer process if the inner one passed.
func inside(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		require.Equal(t, 1, os.Getpid(), "not PID 1 of the namespace")
		require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		require.NoError(t, unix.Mount("proc", "/proc", "proc", 0, ""), "mount /proc of the namespace")
		return true
	}
	t.Parallel() // parallel tests run after the tests that run a Reaper in this process
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if end, ok := t.Deadline(); ok { // before that, the inner process prints its goroutines
		ctx, cancel = context.WithDeadline(ctx, end.Add(-5*time.Second))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), insideEnv+"=1"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		require.NoError(t, err, "this test needs a PID namespace: run it as root, or allow unprivileged user namespaces")
	}
	require.NoError(t, err, "output of PID 1:\n%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the inner test did not run")
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("figure:")) {
			t.Logf("%s", bytes.TrimSpace(line))
		}
	}
	return false
}

// running returns a Reaper whose Run ends with the test.
func running(t testing.TB) *Reaper {
	r := New()
	run(t, r)
	return r
}

func run(t testing.TB, r *Reaper) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

// sh starts a shell line marked with id. If ready is set, sh waits for its first line of output.
func sh(t testing.TB, r *Reaper, id, line string, ready bool) (*Process, *os.File) {
	t.Helper()
	out, w, err := os.Pipe()
	require.NoError(t, err)
	in, inw, err := os.Pipe()
	require.NoError(t, err)
	p, err := r.Start(Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", line}, Setsid: true,
		Env: []string{"PATH=/usr/bin:/bin", markEnv + "=" + id}, Files: []*os.File{in, w, os.Stderr}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, in.Close())
	t.Cleanup(func() { out.Close(); inw.Close() })
	if ready {
		require.Equal(t, "ready\n", readLine(t, out))
	}
	return p, out
}

func readLine(t testing.TB, f *os.File) string {
	t.Helper()
	var line []byte
	for b := make([]byte, 1); ; {
		_, err := f.Read(b)
		require.NoError(t, err, "after %q", line)
		if line = append(line, b[0]); b[0] == '\n' {
			return string(line)
		}
	}
}

// waitFor polls until ok returns true. Use it for states without a notification.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 5*time.Millisecond, what)
}

func finder(id string) func() ([]Proc, error) {
	return func() ([]Proc, error) {
		procs, err := Scan(markEnv)
		return amongOf(procs, id), err
	}
}

// stranger is a program that gives up root, and then scans and tries to stop a process of root.
func stranger() {
	var pid int
	_, _ = fmt.Sscan(os.Getenv("TARGET"), &pid)
	if err := syscall.Setresuid(65534, 65534, 65534); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	find := func() ([]Proc, error) {
		procs, err := Scan(markEnv)
		return pick(procs, pid), err
	}
	seen, err := find()
	report, stopErr := New().Stop(context.Background(), find, 0)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"seen": seen, "scan": fmt.Sprint(err), "stop": fmt.Sprint(stopErr), "left": report.Left})
	os.Exit(0)
}

func pick(procs []Proc, pid int) []Proc {
	for _, p := range procs {
		if p.PID == pid {
			return []Proc{p}
		}
	}
	return nil
}
