//go:build mpi

package fake

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// An idle worker that is told to stop ends by itself, with 0. As root it is
// PID 1 of a namespace, as in its container, with a /proc of its own.
func TestIdleWorkerStops(t *testing.T) {
	const runs = 10
	series := figure.Series{Unit: "ms", Reduce: "max"}
	for range runs {
		series.Samples = append(series.Samples, stopIdle(t).Seconds()*1000)
	}
	sorted := slices.Sorted(slices.Values(series.Samples))
	t.Logf("idle worker told to stop: median %.1f ms, max %.1f ms of %d runs", (sorted[runs/2-1]+sorted[runs/2])/2, sorted[runs-1], runs)
	record(t, "fake-stop", series, figure.Row{Name: "idle worker told to stop", Op: "<=", Bar: 100, Unit: "ms"})
}

func stopIdle(t *testing.T) time.Duration {
	t.Helper()
	dir := shortDir(t)
	agent := filepath.Join(bin, "agent")
	cmd := exec.Command(agent, "worker")
	if os.Getuid() == 0 {
		cmd = exec.Command("sh", "-c", `mount --make-rprivate / && mount -t proc proc /proc && exec "$0" worker`, agent)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(plainEnv(), "MUSTER_DIR="+dir)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for ready := false; !ready; {
		probe := exec.Command(agent, "ready")
		probe.Env = cmd.Env
		ready = probe.Run() == nil
		select {
		case err := <-ended:
			require.FailNow(t, "the worker ended", "%v: %s", err, said.String())
		default:
		}
	}
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		took := time.Since(began)
		require.NoError(t, err, "exit code: %s", said.String())
		return took
	case <-time.After(patience):
		require.FailNow(t, "an idle worker does not stop")
	}
	return 0
}

// record writes raw numbers and their row where figures are kept: $MUSTER_OUT,
// or out/ of the module. A copy of the tests that runs far from both has
// nowhere to write, and says so.
func record(t *testing.T, name string, series figure.Series, row figure.Row) {
	t.Helper()
	dir, err := figure.Dir()
	if err != nil {
		t.Logf("not recorded: %v", err)
		return
	}
	kept, err := figure.Keep(dir, "make test", name, series, row)
	require.NoError(t, err)
	t.Log(kept)
}
