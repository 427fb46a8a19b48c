//go:build mpi

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// saving is a rank that writes a checkpoint when it is stopped.
const saving = `
import os, signal, subprocess, sys, time
me = os.environ["RANK"]
helper = subprocess.Popen(["sleep", "1000"]) # data that the rank reads comes from here
def save(number, frame):
    %s
    assert helper.poll() is None, "the helper ended before its rank"
    open("saved." + me, "w").close()
    helper.kill()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
open("up." + me, "w").close()
while True: time.sleep(0.1)
`

// TestStopsLetRanksSave checks that ranks have the grace to save, for each way to stop a run, and for each program
// between the ranks and their worker.
func TestStopsLetRanksSave(t *testing.T) {
	t.Parallel()
	source := func(how string) string {
		path := filepath.Join(t.TempDir(), "train.py")
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, saving, how), 0o644))
		return path
	}
	const python = "/usr/bin/python3"
	long, itself, child := source(`time.sleep(7)`), source(`time.sleep(2)`), source(`subprocess.run(["sh", "-c", "sleep 2"], check=True)`)
	standIn := laid(t, "torchrun.py")
	ranks := map[string][]string{
		"a rank":                      {python, long},
		"a rank whose child saves":    {python, child},
		"behind a shell":              {"sh", "-c", python + " " + itself + "; exit $?"},
		"behind a shell with a trap":  {"bash", "-c", "trap 'echo asked' TERM; " + python + " " + itself + " & wait; wait"},
		"behind timeout":              {"timeout", "1000", python, itself},
		"under torchrun":              {python, standIn, "2", "0.5", python, itself},
		"under torchrun, by children": {python, standIn, "2", "0.5", python, child},
	}
	for way, stop := range map[string]func(t *testing.T, j *job){
		"drain":     func(t *testing.T, j *job) { require.NoError(t, syscall.Kill(j.worker(t), syscall.SIGTERM)) },
		"TERM":      func(t *testing.T, j *job) { j.signal(syscall.SIGTERM) },
		"interrupt": func(t *testing.T, j *job) { j.signal(syscall.SIGINT) },
	} {
		for name, command := range ranks {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir, n, flags := t.TempDir(), 1, []string{"--fake=1", "--grace=40s"}
				if strings.HasPrefix(name, "under torchrun") {
					n, flags = 2, append(flags, "--framework=torchrun")
				} else {
					flags = append(flags, "--framework=plain")
				}
				j := start(t, agentRun(t, append(flags, "--chdir", dir), command...))
				j.up(dir, n)
				asked := time.Now()
				stop(t, j)
				o := j.wait()
				for rank := range n {
					require.True(t, exists(dir, "saved."+strconv.Itoa(rank)), "rank %d: %s", rank, tail(o.err))
				}
				require.NotZero(t, o.code, "a stopped run must not exit with 0")
				require.Less(t, time.Since(asked), 30*time.Second, "the job must not wait when all ranks have saved")
			})
		}
	}
}

// TestHelpersOfAFailedRankSave checks that a process that a failed rank started to save its work has the grace. The
// end of the run waits for it.
func TestHelpersOfAFailedRankSave(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"as it is":        `sh -c "sleep 2.5; touch saved" & exit 3`,
		"ignoring TERM":   `(trap "" TERM; sleep 2.5; touch saved) & sleep 0.2; exit 3`,
		"writing":         `sh -c "sleep 2.5; echo said; touch saved" & exit 3`,
		"in a session":    `setsid sh -c "sleep 2.5; touch saved" & exit 3`,
		"killed":          `(trap "" TERM; sleep 2.5; touch saved) & sleep 0.2; kill -KILL $$`,
		"with a neighbor": `[ $RANK = 1 ] && exec sleep 1000; sh -c "sleep 2.5; touch saved" & exit 3`,
	} {
		for ends, restart := range map[string][]string{"for good": nil, "restarted": {"--max-restarts=1", "--restart-on=+3"}} {
			t.Run(name+"/"+ends, func(t *testing.T) {
				t.Parallel()
				dir, n := t.TempDir(), 1
				if name == "with a neighbor" {
					n = 2
				}
				words := `if [ "$MUSTER_ATTEMPT" = 1 ]; then [ -e saved ] || echo early; exit 0; fi; ` + line
				flags := append([]string{"--fake=" + strconv.Itoa(n), "--framework=plain", "--grace=20s", "--chdir", dir}, restart...)
				o := run(t, agentRun(t, flags, "bash", "-c", words))
				require.True(t, exists(dir, "saved"), tail(o.err))
				if restart != nil {
					o.wants(t, 0)
					require.NotContains(t, o.out, "early", "the next attempt must not begin before the last one has saved")
				} else {
					require.Contains(t, []int{3, 137}, o.code, tail(o.err))
					require.Contains(t, o.err, "rank 0 on 127.0.0.2")
				}
			})
		}
	}
}

// TestCommandInTheLauncherSaves covers a command in the launcher that starts a process to save its work when it is
// stopped. That process has the grace. A second signal ends the run at once.
func TestCommandInTheLauncherSaves(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"a script": `trap 'sh -c "sleep 6; touch saved" & exit 0' TERM; touch up; while :; do sleep 0.1; done`,
		"in the background of a program": `exec /usr/bin/python3 -c '
import os, signal, subprocess, sys, time
def save(number, frame):
    subprocess.Popen(["sh", "-c", "sleep 6; touch saved"])
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open("up", "w").close()
while True: time.sleep(0.1)'`,
	} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/again %t", name, again), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				j := start(t, agentRun(t, []string{"--fake=1", "--grace=30s", "--chdir", dir}, "bash", "-c", line))
				require.Eventually(t, func() bool { return exists(dir, "up") }, patience, 10*time.Millisecond)
				asked := time.Now()
				j.signal(syscall.SIGTERM)
				if again {
					time.Sleep(time.Second)
					j.signal(syscall.SIGTERM)
				}
				o := j.wait()
				require.Equal(t, !again, exists(dir, "saved"), tail(o.err))
				require.NotZero(t, o.code)
				if again {
					require.Less(t, time.Since(asked), 6*time.Second)
				}
			})
		}
	}
}

// workers returns the processes of the job's fake workers, in order.
func (j *job) workers(t testing.TB) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", j.cmd.Process.Pid))
	require.NoError(t, err)
	for _, list := range lists {
		text, err := os.ReadFile(list)
		require.NoError(t, err)
		for _, word := range strings.Fields(string(text)) {
			line, err := os.ReadFile("/proc/" + word + "/cmdline")
			if err == nil && strings.Contains(string(line), "\x00worker\x00") {
				pid, err := strconv.Atoi(word)
				require.NoError(t, err)
				pids = append(pids, pid)
			}
		}
	}
	require.NotEmpty(t, pids, "no worker among the children")
	slices.Sort(pids)
	return pids
}

// worker returns the process of the job's last fake worker.
func (j *job) worker(t testing.TB) (pid int) {
	t.Helper()
	all := j.workers(t)
	return all[len(all)-1]
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// TestStopLetsRanksOfMpirunSave checks that mpirun is stopped only after its ranks have saved, on workers and in
// the launcher.
func TestStopLetsRanksOfMpirunSave(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		for way, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT} {
			for place, c := range map[string]struct {
				flags []string
				n     int
				shell bool
			}{
				"on workers":                  {[]string{"--fake=2"}, 2, false},
				"in the launcher, too":        {[]string{"--fake=1", "--launcher-slots=1"}, 2, false},
				"on workers, behind a script": {[]string{"--fake=2"}, 2, true},
			} {
				t.Run(way+"/"+place, func(t *testing.T) {
					t.Parallel()
					dir, source := t.TempDir(), laid(t, "loaders.py")
					command := []string{f.mpirun, "-n", strconv.Itoa(c.n), "/usr/bin/python3", source, "fork"}
					if c.shell {
						line := fmt.Sprintf("%s -n %d /usr/bin/python3 %s fork; exit $?", f.mpirun, c.n, source)
						command = []string{"bash", "-c", line}
					}
					j := start(t, agentRun(t, append([]string{"--grace=40s", "--chdir", dir}, c.flags...), command...))
					j.up(dir, c.n)
					asked := time.Now()
					j.signal(sig)
					o := j.wait()
					for rank := range c.n {
						number := strconv.Itoa(rank)
						require.False(t, exists(dir, "failed."+number), "a loader of rank %d ended: %s", rank, tail(o.err))
						require.True(t, exists(dir, "saved."+number), "rank %d: %s", rank, tail(o.err))
					}
					o.wants(t, 128+int(sig))
					require.Less(t, time.Since(asked), 20*time.Second, "the job must not wait when all ranks have saved")
					require.Contains(t, o.err, ": stopping 2 ranks, up to 40 s for saving; a second one kills at once\n")
					require.Regexp(t, `agent: 2 ranks ended by themselves after 2(\.\d)? s\n`, o.err)
					require.Len(t, o.report.Stopped, 2)
				})
			}
		}
	})
}
