//go:build mpi

package fake

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/test/suite/care"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/proc"
)

// TestIdleWorkerStops checks that an idle worker that is stopped exits with 0. As root, the worker is PID 1 of a
// namespace with its own /proc, as in its container.
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
	cmd.Env = append(proc.Environment(bin, "FAKE_TEST"), "MUSTER_DIR="+dir)
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
			require.FailNow(t, "the worker ended early", "%v: %s", err, said.String())
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
		require.FailNow(t, "the idle worker did not stop")
	}
	return 0
}

// record writes raw numbers and their row to the directory of the figures: $MUSTER_OUT, or out/ of the module. If
// there is neither, because the tests run elsewhere, it logs that and writes nothing.
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

// TestStopSaysHowRanksEnded checks that a stop prints how many ranks are stopped and how long they have, and
// afterwards how they ended. The report lists each rank.
func TestStopSaysHowRanksEnded(t *testing.T) {
	t.Parallel()
	const line = `if [ $RANK = 1 ]; then trap "" TERM; else trap "sleep 1; exit 0" TERM; fi; touch up.$RANK; while :; do sleep 0.1; done`
	for place, c := range map[string]struct {
		flags      []string
		ranks      int
		says, ends string
		want       []report.StoppedRank
	}{
		"on workers": {[]string{"--fake=3", "--framework=plain", "--grace=3s"}, 3, "agent: SIGTERM: stopping 3 ranks, up to 3 s for saving; a second one kills at once\n",
			`agent: 2 of 3 ended by themselves after 1(\.\d)? s; rank 1 on 127\.0\.0\.3 was killed\n`,
			[]report.StoppedRank{{Rank: "rank 0", Worker: "127.0.0.2", Seconds: 1, Killed: false}, {Rank: "rank 1", Worker: "127.0.0.3", Seconds: 3, Killed: true}, {Rank: "rank 2", Worker: "127.0.0.4", Seconds: 1, Killed: false}}},
		"on a worker, by default": {[]string{"--fake=1", "--framework=plain"}, 1, "agent: SIGTERM: stopping 1 rank, up to 10 s for saving (the default of --grace); a second one kills at once\n",
			`agent: rank 0 on 127\.0\.0\.2 ended by itself after 1(\.\d)? s\n`, []report.StoppedRank{{Rank: "rank 0", Worker: "127.0.0.2", Seconds: 1, Killed: false}}},
		"in the launcher": {[]string{"--fake=1", "--grace=4s", "--env=RANK=0"}, 1, "agent: SIGTERM: stopping 1 rank, up to 4 s for saving; a second one kills at once\n",
			`agent: rank 0 ended by itself after 1(\.\d)? s\n`, []report.StoppedRank{{Rank: "rank 0", Worker: "", Seconds: 1, Killed: false}}},
		"under torchrun": {[]string{"--fake=2", "--framework=torchrun", "--grace=6s"}, 4, "agent: SIGTERM: stopping torchrun on 2 workers, up to 6 s for saving; a second one kills at once\n",
			`agent: 3 of 4 ended by themselves after 1(\.\d)? s; rank 1 on 127\.0\.0\.2 was killed\n`,
			[]report.StoppedRank{{Rank: "rank 0", Worker: "127.0.0.2", Seconds: 1, Killed: false}, {Rank: "rank 1", Worker: "127.0.0.2", Seconds: 6, Killed: true},
				{Rank: "rank 2", Worker: "127.0.0.3", Seconds: 1, Killed: false}, {Rank: "rank 3", Worker: "127.0.0.3", Seconds: 1, Killed: false}}},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command := []string{"bash", "-c", line}
			if place == "under torchrun" {
				source, err := care.Source("torchrun.py")
				require.NoError(t, err)
				path := filepath.Join(t.TempDir(), "torchrun") // the agent recognizes torchrun by this name
				require.NoError(t, os.WriteFile(path, append([]byte("#!/usr/bin/python3\n"), source...), 0o755))
				command = append([]string{path, "2", "100"}, command...)
			}
			j := start(t, agentRun(t, append(c.flags, "--chdir", dir), command...))
			j.up(dir, c.ranks)
			j.signal(syscall.SIGTERM)
			o := j.wait()
			require.Contains(t, o.err, c.says)
			require.Regexp(t, c.ends, o.err)
			require.Len(t, o.report.Stopped, len(c.want))
			for _, want := range c.want {
				for _, one := range o.report.Stopped {
					if one.Rank == want.Rank {
						require.InDelta(t, want.Seconds, one.Seconds, 1.5)
						want.Seconds = one.Seconds
						require.Equal(t, want, one)
					}
				}
			}
		})
	}
}

// TestRanksGetTheImagesStopSignal checks that a worker stops its ranks with the signal that stopped the worker,
// which the image chooses. Helpers and the launchers of ranks get no signal.
func TestRanksGetTheImagesStopSignal(t *testing.T) {
	t.Parallel()
	const saves = `
import os, signal, subprocess, sys, time
helper = subprocess.Popen(["sleep", "4817"])
def save(number, frame):
    time.sleep(1)
    assert helper.poll() is None
    open("saved.%%d" %% number, "w").close()
    sys.exit(0)
for one in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGRTMIN + 3): signal.signal(one, save)
open("up", "w").close()
while True: time.sleep(0.1)
`
	for name, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "RTMIN+3": 37} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "train.py")
			require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, saves), 0o644))
			j := start(t, agentRun(t, []string{"--fake=1", "--framework=plain", "--grace=30s", "--chdir", dir}, "timeout", "1000", "/usr/bin/python3", path))
			require.Eventually(t, func() bool { return exists(dir, "up") }, patience, 10*time.Millisecond)
			require.NoError(t, syscall.Kill(j.worker(t), sig))
			o := j.wait()
			require.True(t, exists(dir, fmt.Sprintf("saved.%d", sig)), tail(o.err))
			require.Less(t, o.took, 20*time.Second)
		})
	}
}
