//go:build mpi

package fake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Real mpiruns over workers that go and come: each change begins the command anew
// with the ranks that there is room for. Nothing of an attempt lives in the next.
func TestElasticMPI(t *testing.T) {
	for _, mpirun := range []string{"mpirun.openmpi", "mpiexec.mpich"} {
		t.Run(mpirun, func(t *testing.T) {
			t.Parallel()
			o := run(t, agentRun(t, []string{"--fake=3", "--min-workers=2", "--fake-fault=kill worker=1 after=3s", "--fake-fault=join after=12s"},
				mpirun, "bash", "-c", stillThere+`
echo "of ${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}, attempt $MUSTER_ATTEMPT on $MUSTER_WORKER"
for i in {1..80}; do sleep 0.1; done`))
			require.Zero(t, o.code, o.err)
			require.NotContains(t, o.out, "old: ")
			require.Len(t, o.report.Attempts, 3, o.err)
			for attempt, hosts := range []string{"234", "24", "245"} {
				for _, host := range hosts {
					line := fmt.Sprintf("of %d, attempt %d on 127.0.0.%c\n", len(hosts), attempt, host)
					require.Equal(t, 1, strings.Count(o.out, line), "%s: %s\n%s", line, o.out, o.err)
				}
				require.Equal(t, attempt == 2, o.report.Attempts[attempt].Counted, "a change uses up no restart")
			}
		})
	}
}
