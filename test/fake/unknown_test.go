//go:build mpi

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostless are an mpirun's words for the hosts of a run, one of which is no worker.
type hostless struct{ alone, beside, file, fileBeside string }

func hostlessOf(t *testing.T) map[string]hostless {
	dir := t.TempDir()
	lay := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	return map[string]hostless{
		"mpirun.openmpi": {"-np 1 -host 127.0.0.99", "-np 2 -host 127.0.0.2,127.0.0.99",
			"-np 1 --hostfile " + lay("one", "127.0.0.99 slots=1\n"), "-np 2 --hostfile " + lay("two", "127.0.0.2 slots=1\n127.0.0.99 slots=1\n")},
		"mpiexec.mpich": {"-n 1 -hosts 127.0.0.99", "-n 2 -hosts 127.0.0.2,127.0.0.99",
			"-n 1 -f " + lay("hydra-one", "127.0.0.99:1\n"), "-n 2 -f " + lay("hydra-two", "127.0.0.2:1\n127.0.0.99:1\n")},
	}
}

// A host that is no worker ends an mpirun within 10 s, and is named: MPICH 4.0 would wait
// forever. test/conform has the same for five MPIs.
func TestUnknownHost(t *testing.T) {
	t.Parallel()
	const within = 10 * time.Second
	said := `unknown host "127.0.0.99": the 2 known are 127.0.0.2, 127.0.0.3`
	for mpirun, words := range hostlessOf(t) {
		for name, hosts := range map[string]string{"alone": words.alone, "beside a worker": words.beside, "in a hostfile": words.file, "in a hostfile beside a worker": words.fileBeside} {
			t.Run(mpirun+"/"+name, func(t *testing.T) {
				t.Parallel()
				command := append(append([]string{mpirun}, strings.Fields(hosts)...), "hostname")
				o := run(t, agentRun(t, []string{"--fake=2"}, command...))
				o.wants(t, 255)
				require.Less(t, o.took, within)
				require.Regexp(t, `(?m)^agent: `+said+"; "+mpirun+` (exited with 255|did not end by itself)$`, o.err)
				require.Contains(t, o.err, "hint: leave host names and hostfiles out of the command: `agent run` tells it the workers")
				require.NotContains(t, o.err, "agent: worker 127.0.0.2", "it is innocent")
				run(t, agentRun(t, []string{"--fake=2"}, mpirun, "-np", "2", "hostname")).wants(t, 0)
			})
			if name == "alone" || name == "in a hostfile" {
				continue
			}
			t.Run(mpirun+"/"+name+", behind a script", func(t *testing.T) {
				t.Parallel()
				o := run(t, agentRun(t, []string{"--fake=2"}, "sh", "-c", fmt.Sprintf("%s %s hostname; echo it was $?; exit 3", mpirun, hosts)))
				o.wants(t, 3)
				require.Less(t, o.took, within)
				require.Contains(t, o.err, said)
				require.Regexp(t, `it was (255|137)\n`, o.out, "the script goes on")
			})
		}
	}
}
