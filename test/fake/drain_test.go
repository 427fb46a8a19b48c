//go:build mpi

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is a rank that takes as many seconds to save as the argument for its rank says. "-" means that it has no
// handler. If there is a checkpoint, it exits at once and prints the number of ranks. It prints in one write,
// because Hydra mixes ranks' output that is written in pieces, as an unbuffered print does.
const slow = `
import glob, os, signal, sys, time
name = next(n for n in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if n in os.environ)
me = os.environ[name]
if glob.glob("saved.*"):
    size, worker = os.environ[name.replace("RANK", "SIZE")], os.environ["MUSTER_WORKER"]
    os.write(1, f"again: rank {me} of {size} on {worker}\n".encode())
    sys.exit(0)
took = sys.argv[1 + int(me)]
def save(number, frame):
    time.sleep(float(took))
    open("saved." + me, "w").close()
    sys.exit(0)
if took != "-":
    signal.signal(signal.SIGTERM, save)
open("up." + me, "w").close()
while True: time.sleep(0.1)
`

// TestDrainOfOneWorkerLetsAllRanksSave drains one worker under mpirun. When mpirun loses a worker, it ends the
// ranks of all workers. So all ranks are asked to stop, and the daemons of the drained worker wait for the ranks of
// the others.
func TestDrainOfOneWorkerLetsAllRanksSave(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		source := filepath.Join(t.TempDir(), "slow.py")
		require.NoError(t, os.WriteFile(source, []byte(slow), 0o644))
		for name, c := range map[string]struct {
			flags []string
			took  [2]string // seconds that each rank needs to save
			first int       // the worker that is drained
			most  time.Duration
			shell bool
			all   bool // drain all workers and stop the launcher, as when the job is deleted
			code  int
			again string // output of the next attempt
		}{
			"the other is slower":    {[]string{"--fake=2"}, [2]string{"1", "10"}, 0, 20 * time.Second, false, false, 76, ""},
			"the other is quicker":   {[]string{"--fake=2"}, [2]string{"1", "8"}, 1, 20 * time.Second, false, false, 76, ""},
			"its own has no handler": {[]string{"--fake=2"}, [2]string{"-", "6"}, 0, 20 * time.Second, false, false, 76, ""},
			"behind a script":        {[]string{"--fake=2"}, [2]string{"1", "10"}, 0, 20 * time.Second, true, false, 76, ""},
			"both, and the launcher": {[]string{"--fake=2"}, [2]string{"1", "8"}, 0, 20 * time.Second, false, true, 143, ""},
			"scaled down":            {[]string{"--fake=2", "--min-workers=1"}, [2]string{"1", "10"}, 0, 40 * time.Second, false, false, 0, "of 1 on 127.0.0.3\n"},
			"restarted":              {[]string{"--fake=2", "--max-restarts=1"}, [2]string{"1", "10"}, 0, 40 * time.Second, false, false, 0, "of 2 on 127.0.0.3\n"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				command := []string{f.mpirun, "-n", "2", "/usr/bin/python3", source, c.took[0], c.took[1]}
				if strings.HasSuffix(c.again, "of 1 on 127.0.0.3\n") {
					command = append(command[:1], command[3:]...)
				}
				if c.shell {
					command = []string{"bash", "-c", strings.Join(command, " ") + "; exit $?"}
				}
				j := start(t, agentRun(t, append([]string{"--grace=40s", "--chdir", dir}, c.flags...), command...))
				j.up(dir, 2)
				asked, told := time.Now(), j.workers(t)
				if !c.all {
					told = told[c.first : c.first+1]
				}
				for _, pid := range told {
					require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
				}
				if c.all {
					j.signal(syscall.SIGTERM)
				}
				o := j.wait()
				for rank, took := range c.took {
					require.Equal(t, took != "-", exists(dir, "saved."+strconv.Itoa(rank)), "rank %d: %s", rank, tail(o.err))
				}
				o.wants(t, c.code)
				require.Less(t, time.Since(asked), c.most, "the job must not wait when all ranks have saved")
				require.Contains(t, o.out, c.again)
				if !c.all {
					savers := 2 - strings.Count(c.took[0], "-")
					require.Regexp(t, fmt.Sprintf(`agent: worker 127.0.0.%d was told to stop: stopping %d ranks?, up to [34]\d s for saving\n`, 2+c.first, savers), o.err)
				}
			})
		}
	})
}

// together is a rank that saves together with the others, as for sharded checkpoints: each rank needs all others to
// have been asked. Its argument is the number of seconds. If there is a checkpoint, it exits at once.
const together = `
import glob, os, signal, sys, time
me, size = os.environ["RANK"], int(os.environ["WORLD_SIZE"])
if glob.glob("saved.*"):
    os.write(1, f"again: rank {me} of {size}\n".encode())
    sys.exit(0)
def save(number, frame):
    open("asked." + me, "w").close()
    while len(glob.glob("asked.*")) < size:
        time.sleep(0.05)
    time.sleep(float(sys.argv[1 + int(me)]))
    open("saved." + me, "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open("up." + me, "w").close()
while True: time.sleep(0.1)
`

// store is a torchrun with its store: the first one serves it and waits for the others at its end. Each of the
// others ends its rank when it loses the store.
const store = `
import os, select, signal, socket, subprocess, sys
group = os.environ["GROUP_RANK"]
rank = subprocess.Popen(sys.argv[1:], env={**os.environ, "RANK": group, "LOCAL_RANK": "0", "WORLD_SIZE": os.environ["GROUP_WORLD_SIZE"], "TORCHELASTIC_RUN_ID": "none"})
def end(*_):
    rank.kill()
    os._exit(1)
signal.signal(signal.SIGTERM, end)
s = socket.socket(socket.AF_UNIX)
if group == "0":
    at = "store." + os.environ["MUSTER_ATTEMPT"]
    s.bind(at + ".new")
    s.listen()
    os.rename(at + ".new", at)
    others = [s.accept()[0] for _ in range(int(os.environ["GROUP_WORLD_SIZE"]) - 1)]
    code = rank.wait()
    for one in others:
        one.recv(1)
    sys.exit(code)
while s.connect_ex("store." + os.environ["MUSTER_ATTEMPT"]):
    pass
while rank.poll() is None:
    if select.select([s], [], [], 0.1)[0]:
        end()
s.send(b"1")
sys.exit(rank.returncode)
`

// TestDrainOfAMemberLetsAllSave drains a worker of a group. No process of a group continues without the others, so
// all processes are asked at once. The first torchrun, which serves the store, runs until they have saved.
func TestDrainOfAMemberLetsAllSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, standIn := filepath.Join(dir, "together.py"), filepath.Join(dir, "torchrun")
	require.NoError(t, os.WriteFile(source, []byte(together), 0o644))
	require.NoError(t, os.WriteFile(standIn, []byte("#!/usr/bin/python3\n"+store), 0o755))
	for name, c := range map[string]struct {
		flags []string
		serve bool      // torchrun starts the rank
		took  [2]string // seconds that each rank needs to save
		first int       // the worker that is drained; 2: both workers, and the launcher is stopped, as when the job is deleted
		code  int
		again string // output of the next attempt
	}{
		"the first":                       {nil, false, [2]string{"1", "4"}, 0, 76, ""},
		"the second":                      {nil, false, [2]string{"4", "1"}, 1, 76, ""},
		"the worker with the store":       {nil, true, [2]string{"1", "8"}, 0, 76, ""},
		"a worker without the store":      {nil, true, [2]string{"4", "1"}, 1, 76, ""},
		"scaled down":                     {[]string{"--min-workers=1"}, false, [2]string{"1", "4"}, 1, 0, "of 1\n"},
		"scaled down, without its store":  {[]string{"--min-workers=1"}, true, [2]string{"1", "8"}, 0, 0, "of 1\n"},
		"restarted with another store":    {[]string{"--max-restarts=1"}, true, [2]string{"1", "8"}, 0, 0, "of 2\n"},
		"the whole job":                   {[]string{"--min-workers=1"}, true, [2]string{"1", "8"}, 2, 143, ""},
		"without a grace for the slowest": {[]string{"--grace=10s"}, false, [2]string{"1", "60"}, 0, 76, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			framework, command := "plain", []string{"/usr/bin/python3", source, c.took[0], c.took[1]}
			if c.serve {
				framework, command = "torchrun", append([]string{standIn}, command...)
			}
			flags := append([]string{"--fake=2", "--framework=" + framework, "--grace=40s", "--chdir", dir}, c.flags...)
			j := start(t, agentRun(t, flags, command...))
			j.up(dir, 2)
			asked, told := time.Now(), j.workers(t)
			if c.first < 2 {
				told = told[c.first : c.first+1]
			}
			for _, pid := range told {
				require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
			}
			if c.first == 2 {
				j.signal(syscall.SIGTERM)
			}
			o := j.wait()
			for rank, took := range c.took {
				require.Equal(t, took != "60", exists(dir, "saved."+strconv.Itoa(rank)), "rank %d: %s", rank, tail(o.err))
			}
			o.wants(t, c.code)
			require.Less(t, time.Since(asked), 30*time.Second, "the job must not wait when all ranks have saved")
			require.Contains(t, o.out, c.again)
			if c.first == 2 {
				require.Contains(t, o.err, "agent: 2 ranks ended by themselves after ")
				require.Len(t, o.report.Stopped, 2)
				for _, one := range o.report.Stopped {
					require.Equal(t, one.Rank == "rank 0", one.Seconds < 5, "the rank's time must not include that of its torchrun: %v", o.report.Stopped)
				}
				return
			}
			whom := "2 ranks"
			if c.serve {
				whom = "torchrun on 2 workers"
			}
			require.Equal(t, 1, strings.Count(o.err, "agent: worker 127.0.0."+strconv.Itoa(2+c.first)+" was told to stop: stopping "+whom+", up to "), o.err)
		})
	}
}
