//go:build mpi

package fake

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// together is a rank that saves with the others, as sharded checkpoints do: each needs all to have
// been asked. It takes as long as its argument says. If there is a checkpoint it ends at once.
const together = `
import glob, os, signal, sys, time
me, size = os.environ["RANK"], int(os.environ["WORLD_SIZE"])
if glob.glob("saved.*"):
    print("again: rank", me, "of", size)
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

// store is torchrun as far as its store goes: the first one serves it, waits at its end for the
// others, and each of these ends its rank when it loses it.
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

// TestDrainOfAMemberLetsAllSave: no process of a group goes on without the others, so all are
// asked at once, and what the first torchrun serves to all lives until they have saved.
func TestDrainOfAMemberLetsAllSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, standIn := filepath.Join(dir, "together.py"), filepath.Join(dir, "torchrun")
	require.NoError(t, os.WriteFile(source, []byte(together), 0o644))
	require.NoError(t, os.WriteFile(standIn, []byte("#!/usr/bin/python3\n"+store), 0o755))
	for name, c := range map[string]struct {
		flags []string
		serve bool      // torchrun starts the rank
		took  [2]string // that each rank needs to save
		first int       // the worker that is drained; 2: both, and the launcher, as when the job is deleted
		code  int
		again string // what the next attempt prints
	}{
		"the first":                       {nil, false, [2]string{"1", "4"}, 0, 76, ""},
		"the second":                      {nil, false, [2]string{"4", "1"}, 1, 76, ""},
		"the one with the store":          {nil, true, [2]string{"1", "8"}, 0, 76, ""},
		"one without":                     {nil, true, [2]string{"4", "1"}, 1, 76, ""},
		"scaled down":                     {[]string{"--min-workers=1"}, false, [2]string{"1", "4"}, 1, 0, "of 1\n"},
		"scaled down, without its store":  {[]string{"--min-workers=1"}, true, [2]string{"1", "8"}, 0, 0, "of 1\n"},
		"restarted with another store":    {[]string{"--max-restarts=1"}, true, [2]string{"1", "8"}, 0, 0, "of 2\n"},
		"all of the job":                  {[]string{"--min-workers=1"}, true, [2]string{"1", "8"}, 2, 143, ""},
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
			for rank := range 2 {
				require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "%s", j.err)
			}
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
			require.Less(t, time.Since(asked), 30*time.Second, "nobody waits when all have saved")
			require.Contains(t, o.out, c.again)
			if c.first == 2 {
				require.Contains(t, o.err, "agent: 2 ranks ended by themselves after ")
				require.Len(t, o.report.Stopped, 2)
				for _, one := range o.report.Stopped {
					require.Equal(t, one.Rank == "rank 0", one.Seconds < 5, "the time that its torchrun was held is not its own: %v", o.report.Stopped)
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
