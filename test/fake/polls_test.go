//go:build mpi

package fake

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/polls.py
var pollsSource []byte

// pollsLine returns the number of the first line of polls.py that contains a text.
func pollsLine(t *testing.T, text string) int {
	before, _, found := bytes.Cut(pollsSource, []byte(text))
	require.True(t, found, text)
	return 1 + bytes.Count(before, []byte("\n"))
}

// polls runs three ranks of polls.py for a number of seconds.
func polls(t *testing.T, f family, way string, seconds int, flags ...string) outcome {
	script := filepath.Join(t.TempDir(), "polls.py")
	require.NoError(t, os.WriteFile(script, pollsSource, 0o644))
	all := append([]string{"--fake=3", "--grace=5s", "--hang-after=4s"}, flags...)
	argv := []string{f.mpirun, "-np", "3"}
	if f.name == "openmpi" {
		argv = append(argv, "--oversubscribe")
	}
	c := agentRun(t, all, append(argv, "/usr/bin/python3", script, way, fmt.Sprint(seconds))...)
	if f.name == "mpich" {
		c.env = []string{"MPI4PY_PATH=" + mpi4pyMPICH(), "LD_LIBRARY_PATH=" + mpi4pyMPICH(), "MPI4PY_MPIABI=mpich"}
	}
	o := run(t, c)
	o.wants(t, 0)
	require.Zero(t, o.report.Hangs, "a suspicion does not count as a hang")
	return o
}

// everyPlayed plays a way with each MPI family that this build plays.
func everyPlayed(t *testing.T, way string, test func(t *testing.T, f family)) {
	for _, f := range families {
		if isPollPlayed(way, f.name) {
			t.Run(way+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				test(t, f)
			})
		}
	}
}

// TestRanksThatPollAreSuspected covers ranks that wait for each other in MPI and use processors. The suspicion is
// printed once, with the position of each rank. It changes nothing, whatever the action for a hang is.
func TestRanksThatPollAreSuspected(t *testing.T) {
	t.Parallel()
	exchange, meet, load := pollsLine(t, "comm.Recv(box, source=(rank"), pollsLine(t, "    comm.Barrier()"), pollsLine(t, "def load_batch")+1
	for way, row := range map[string]struct{ said, blame string }{
		"recv":  {fmt.Sprintf("all 3 ranks use a processor at polls.py:%d exchange (MPI Recv)", exchange), ""},
		"mixed": {fmt.Sprintf("all 3 ranks use a processor in MPI: rank 0 on 127.0.0.2 at polls.py:%d <module> (MPI Recv), ranks 1, 2 at polls.py:%d meet (MPI Barrier)", pollsLine(t, "comm.Recv(box, source=0, tag=7)"), meet), ""},
		"apart": {fmt.Sprintf("2 of 3 ranks use a processor at polls.py:%d meet (MPI Barrier)", meet),
			fmt.Sprintf("ranks 0, 2 are waiting in MPI Barrier at polls.py:%d meet; rank 1 on 127.0.0.3 is not waiting: sleeping at polls.py:%d load_batch. Look at rank 1 first.", meet, load)},
	} {
		everyPlayed(t, way, func(t *testing.T, f family) {
			o := polls(t, f, way, 40, "--hang-action=stop")
			why := filepath.Base(f.mpirun) + " may hang: for 4.0 s nothing was printed, read or written, and " + row.said
			said := strings.Count(o.err, why+"\n")
			require.Positive(t, said, o.err)
			require.Equal(t, said, strings.Count(o.err, "may hang"), o.err)
			// A rank that gets no processor for a while seems to make progress.
			require.LessOrEqual(t, said, 1+strings.Count(o.err, "makes progress again"), o.err)
			require.NotContains(t, o.err, "seems to hang")
			require.Regexp(t, `(?m)^agent:     File ".*polls.py", line \d+ in (meet|exchange)$`, o.err)
			require.Len(t, o.report.Blames, said)
			require.Equal(t, "suspicion", o.report.Blames[0].When)
			if row.blame == "" {
				require.Equal(t, why, o.report.Blames[0].Sentence)
				return
			}
			require.Contains(t, o.err, "agent: "+row.blame+"\n")
			require.Equal(t, why+"; "+row.blame, o.report.Blames[0].Sentence)
		})
	}
}

// TestSilentWorkIsNoSuspicion covers ranks that compute, alone or while others wait for them, and ranks that
// exchange messages.
func TestSilentWorkIsNoSuspicion(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"compute", "count", "train", "alone", "aside", "overlap", "gossip", "tight"} {
		everyPlayed(t, way, func(t *testing.T, f family) {
			o := polls(t, f, way, 22, "--hang-action=stop")
			require.NotContains(t, o.err, "hang")
			require.Empty(t, o.report.Blames)
		})
	}
}
