//go:build mpi

package fake

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
)

//go:embed testdata/still.py
var stillSource []byte

// still is a run of three ranks of still.py, started by each mpirun and as a
// group.
func still(t *testing.T, way string, seconds int, flags ...string) map[string]call {
	script := filepath.Join(t.TempDir(), "still.py")
	require.NoError(t, os.WriteFile(script, stillSource, 0o644))
	calls := map[string]call{}
	for name, command := range map[string][]string{
		"openmpi": {"mpirun.openmpi", "-np", "3"}, "mpich": {"mpiexec.mpich", "-np", "3"}, "group": nil,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		require.NoError(t, l.Close())
		all := append([]string{"--fake=3", "--grace=5s"}, flags...)
		if command == nil {
			all = append(all, "--framework=torch")
		}
		calls[name] = agentRun(t, all, append(command, "/usr/bin/python3", script, way, fmt.Sprint(seconds), fmt.Sprint(port))...)
	}
	return calls
}

const seemsToHang = "seems to hang: for 4.0 s nothing was printed, and no rank has used a processor"

// TestHangIsReported: one rank sits in a receive that nobody sends. The report
// names the ranks and the call, comes once, and changes nothing.
func TestHangIsReported(t *testing.T) {
	for name, c := range still(t, "wait", 16, "--hang-after=4s") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, c)
			o.wants(t, 0)
			require.Equal(t, 1, strings.Count(o.err, seemsToHang), o.err)
			require.Equal(t, 1, o.report.Hangs)
			require.Regexp(t, `(?m)^agent:   rank 1 on 127\.0\.0\.3: waiting for a socket at still\.py:\d+ <module> \(python3[0-9.]*, pid \d+; recvfrom`, o.err)
			require.Regexp(t, `(?m)^agent:   ranks 0, 2: waiting for 127\.0\.0\.1:\d+ at still\.py:\d+ <module> \(python3[0-9.]*, pid \d+; recvfrom`, o.err)
			require.NotContains(t, o.err, "hint: its stack", "it is there")
			require.NotContains(t, o.err, "Look at", "all wait")
			for i := range 3 {
				require.Contains(t, o.out, fmt.Sprintf("rank %d ends\n", i))
			}
		})
	}
}

// TestHangIsStopped: the run ends with the code for it, and nothing is left.
func TestHangIsStopped(t *testing.T) {
	for name, c := range still(t, "wait", 80, "--hang-after=4s", "--hang-action=stop") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, c)
			o.wants(t, names.ExitHung)
			require.Equal(t, 1, strings.Count(o.err, seemsToHang), o.err)
			require.Contains(t, o.err, " hung for 4.0 s and was stopped")
			require.Less(t, o.took, 40*time.Second)
		})
	}
}

// TestHangIsBegunAgain: after a hang as after any other end, where the user wants
// that.
func TestHangIsBegunAgain(t *testing.T) {
	t.Parallel()
	for name, c := range still(t, "wait", 80, "--hang-after=4s", "--hang-action=stop", "--max-restarts=1", "--restart-on=hang") {
		if name == "group" {
			o := run(t, c)
			o.wants(t, names.ExitHung)
			require.Equal(t, 2, strings.Count(o.err, seemsToHang), o.err)
			require.Contains(t, o.err, "attempt 2 of 2")
			require.Equal(t, 6, strings.Count(o.out, " begins\n"), o.out)
		}
	}
}

// TestNoHangIsReported: ranks that compute for longer than the time and say
// nothing, and ranks that say something now and then.
func TestNoHangIsReported(t *testing.T) {
	for _, way := range []string{"spin", "talk"} {
		for name, c := range still(t, way, 14, "--hang-after=3s", "--hang-action=stop") {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := run(t, c)
				o.wants(t, 0)
				require.NotContains(t, o.err, "hang")
				require.Zero(t, o.report.Hangs)
			})
		}
	}
}
