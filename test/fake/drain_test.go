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

// slow is a rank that saves for as long as its number among the arguments says; "-": it has no
// handler. If there is a checkpoint it ends at once, and says on how many ranks.
const slow = `
import glob, os, signal, sys, time
name = next(n for n in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if n in os.environ)
me = os.environ[name]
if glob.glob("saved.*"):
    print("again: rank", me, "of", os.environ[name.replace("RANK", "SIZE")], "on", os.environ["MUSTER_WORKER"])
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

// TestDrainOfOneWorkerLetsAllRanksSave: an mpirun ends the ranks of all workers when it loses
// one, so all are asked, and the daemons of the one that goes wait for the ranks of the others.
func TestDrainOfOneWorkerLetsAllRanksSave(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		source := filepath.Join(t.TempDir(), "slow.py")
		require.NoError(t, os.WriteFile(source, []byte(slow), 0o644))
		for name, c := range map[string]struct {
			flags []string
			took  [2]string // that each rank needs to save
			first int       // the worker that is drained
			most  time.Duration
			shell bool
			all   bool // workers, and the launcher, as when the job is deleted
			code  int
			again string // what the next attempt prints
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
				for rank := range 2 {
					require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "%s", j.err)
				}
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
				require.Less(t, time.Since(asked), c.most, "nobody waits when all have saved")
				require.Contains(t, o.out, c.again)
				if !c.all {
					savers := 2 - strings.Count(c.took[0], "-")
					require.Regexp(t, fmt.Sprintf(`agent: worker 127.0.0.%d was told to stop: stopping %d ranks?, up to [34]\d s for saving\n`, 2+c.first, savers), o.err)
				}
			})
		}
	})
}
