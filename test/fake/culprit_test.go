//go:build mpi

package fake

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The rank that failed is named, and none that mpirun killed after it. A rank that ends
// within milliseconds may not be seen; then nobody is named.
func TestCulprit(t *testing.T) {
	t.Parallel()
	const other = "; sleep 12"
	for name, c := range map[string]struct {
		mpirun, rank, fails string
		rest                string // of the line that names rank 1
		unseen              bool   // may be
	}{
		"Open MPI, at once": {"mpirun.openmpi", "OMPI_COMM_WORLD_RANK", "exit 3", "exited with 3", true},
		"Open MPI, later":   {"mpirun.openmpi", "OMPI_COMM_WORLD_RANK", "sleep 5; exit 3", "exited with 3", false},
		"Open MPI, signal":  {"mpirun.openmpi", "OMPI_COMM_WORLD_RANK", "sleep 5; kill -SEGV $$", "was killed by SIGSEGV", false},
		"MPICH, at once":    {"mpiexec.mpich", "PMI_RANK", "exit 3", "exited with 3", true},
		"MPICH, later":      {"mpiexec.mpich", "PMI_RANK", "sleep 5; exit 3", "exited with 3", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, agentRun(t, []string{"--fake=2"}, c.mpirun, "-np", "2", "sh", "-c",
				`if [ $`+c.rank+` = 1 ]; then `+c.fails+`; fi`+other))
			require.NotZero(t, o.code)
			require.NotRegexp(t, `(?m)^agent: worker \S+: rank 0`, o.err, "rank 0 is a victim")
			if !c.unseen {
				require.Regexp(t, `(?m)^agent: worker 127\.0\.0\.3: rank 1, sh \(pid \d+\), `+c.rest, o.err)
			}
		})
	}
}
