//go:build soak

package soak

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// bin is the directory of agent and agent-launcher.
var bin string

// ownMounts is set in the process that has a mount namespace of its own.
const ownMounts = "MUSTER_OWN_MOUNTS"

// TestMain runs the tests in a mount namespace of their own if it is root.
func TestMain(m *testing.M) {
	if os.Getuid() == 0 && os.Getenv(ownMounts) == "" {
		os.Exit(inOwnMounts())
	}
	klog.SetLogger(logr.Discard()) // the server side logs each cut
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // the tests wait more than they compute
		panic(err)
	}
	code, err := prepared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/lab/soak:", err)
		code = 1
	}
	os.Exit(code)
}

func inOwnMounts() int {
	runtime.LockOSThread() // Pdeathsig applies to this thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), ownMounts+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Unshareflags makes the propagation private. Pdeathsig ends the process with this one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "test/lab/soak:", err)
		return 1
	}
	return 0
}

func prepared(m *testing.M) (int, error) {
	if bin = os.Getenv("MUSTER_BIN"); bin != "" {
		var err error
		if bin, err = filepath.Abs(bin); err != nil {
			return 1, err
		}
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "soak-bin")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := program.Own(dir, nil, "agent", "agent-launcher"); err != nil {
		return 1, err
	}
	bin = dir
	return m.Run(), nil
}

// record records a figure if $MUSTER_OUT is set, and fails the test if it misses its bar.
func record(t *testing.T, command, raw string, rows []figure.Row, numbers any) {
	t.Helper()
	dir := os.Getenv("MUSTER_OUT")
	if dir == "" {
		dir = t.TempDir()
	}
	kept, err := figure.Keep(dir, command, raw, numbers, rows...)
	require.NoError(t, err)
	t.Log(kept)
	require.NoError(t, figure.Missed(kept))
}
