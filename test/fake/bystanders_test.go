//go:build mpi

package fake

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/times_out.py
var timesOutSource []byte

// timesOut is a run of two ranks of times_out.py.
func timesOut(t *testing.T, f family, way string, flags ...string) call {
	script := filepath.Join(t.TempDir(), "times_out.py")
	require.NoError(t, os.WriteFile(script, timesOutSource, 0o644))
	c := agentRun(t, append([]string{"--fake=2", "--grace=5s"}, flags...), f.mpirun, "-n", "2", "/usr/bin/python3", script, way)
	if f.name == "mpich" {
		c.env = []string{"MPI4PY_PATH=" + mpi4pyMPICH(), "LD_LIBRARY_PATH=" + mpi4pyMPICH(), "MPI4PY_MPIABI=mpich"}
	}
	return c
}

// TestRankThatAnMPIRunsRankWaitedForIsNamed: the peer that gave up is not all that the user learns.
func TestRankThatAnMPIRunsRankWaitedForIsNamed(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		o := run(t, timesOut(t, f, "load"))
		// A proxy of MPICH 4.0 may crash at a rank's end, and takes the other rank along.
		for again := 0; again < 4 && strings.Contains(o.err, "demux engine error waiting for event"); again++ {
			o = run(t, timesOut(t, f, "load"))
		}
		o.wants(t, 1)
		const sentence = `rank 1 on 127\.0\.0\.3 exited with 1 \(timed out\); rank 0 on 127\.0\.0\.2 was not waiting: sleeping at times_out\.py:21 load_batch\. Look at rank 0 first\.`
		require.Regexp(t, `(?m)^agent: `+sentence+`$`, o.err)
		require.Regexp(t, `(?m)^agent:   rank 0 on 127\.0\.0\.2: sleeping at times_out\.py:21 load_batch \(`, o.err)
		require.Len(t, o.report.Blames, 1)
		require.Equal(t, "failure", o.report.Blames[0].When)
		require.Regexp(t, sentence, o.report.Blames[0].Sentence)
	})
}

// TestNoRankOfAnMPIRunIsBlamed: where the failure says nothing of others, where a rank may be
// in its handler of SIGTERM, where stacks are not wanted, and where nothing fails.
func TestNoRankOfAnMPIRunIsBlamed(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		for name, c := range map[string]struct {
			way   string
			flags []string
			code  int
		}{
			"a fault of its own":   {"bug", nil, 1},
			"a handler of SIGTERM": {"save", nil, 1},
			"--stacks=never":       {"load", []string{"--stacks=never"}, 1},
			"a good run":           {"good", nil, 0},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := run(t, timesOut(t, f, c.way, c.flags...))
				o.wants(t, c.code)
				require.NotContains(t, o.err, "not waiting")
				require.NotContains(t, o.err, "load_batch (")
				require.Empty(t, o.report.Blames)
				if c.code == 0 {
					require.Regexp(t, `^agent: [^\n]* workers?[^\n]*\n(agent: [^\n]*\n)?$`, o.err)
				}
			})
		}
		t.Run("a stop", func(t *testing.T) {
			t.Parallel()
			j := start(t, timesOut(t, f, "load"))
			time.Sleep(2 * time.Second)
			require.NoError(t, j.cmd.Process.Signal(syscall.SIGTERM))
			o := j.wait()
			require.NotContains(t, o.err, "not waiting")
			require.Empty(t, o.report.Blames)
		})
	})
}
