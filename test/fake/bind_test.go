//go:build mpi

package fake

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// Each daemon would bind its first rank to core 0. Where workers share a
// machine all those ranks would share that core.
func TestRanksAreNotBoundToOneCore(t *testing.T) {
	mine := ownCPUs(t)
	every(t, func(t *testing.T, f family) {
		for _, words := range [][]string{{"-n", "2", f.program("hello")}, {"-n", "4", f.program("hello")}} {
			o := run(t, agentRun(t, []string{"--fake=2", "--slots=2"}, append([]string{f.mpirun}, words...)...))
			o.wants(t, 0)
			for _, r := range ranks(t, o.out) {
				require.Equal(t, mine, r.cpus, "rank %d on %s", r.number, r.worker)
			}
		}
		// One rank on each worker: the case in which Open MPI binds to a core.
		o := run(t, agentRun(t, []string{"--fake=2", "--slots=1"}, f.mpirun, f.program("hello")))
		o.wants(t, 0)
		all := ranks(t, o.out)
		require.Equal(t, slots(1, 2), perWorker(t, all))
		require.Equal(t, []string{mine, mine}, []string{all[0].cpus, all[1].cpus})
	})
}

// The user's own binding is the user's affair. It shows the trap as well: both
// ranks are on one core, and a run that computes takes longer.
func TestWhatBindingToACoreCosts(t *testing.T) {
	f := families[0]
	one := agentRun(t, []string{"--fake=2"}, f.mpirun, "--bind-to", "core", f.program("hello"))
	o := run(t, one)
	o.wants(t, 0)
	all := ranks(t, o.out)
	require.Equal(t, all[0].cpus, all[1].cpus)
	require.Regexp(t, `^\d+$`, all[0].cpus)

	const runs, steps = 3, "120000000"
	seconds := regexp.MustCompile(`from 2 ranks, ([0-9.]+) s`)
	series := figure.Series{Reduce: "ratio"}
	for range runs {
		for _, own := range []bool{true, false} {
			c := agentRun(t, []string{"--fake=2"}, f.mpirun, f.program("pi"), steps)
			if own {
				c.env = []string{"OMPI_MCA_hwloc_base_binding_policy=core"}
			}
			o := run(t, c)
			o.wants(t, 0)
			require.Equal(t, own, strings.Contains(o.err, `OMPI_MCA_hwloc_base_binding_policy="core" is set and kept in place of "none"`), o.err)
			m := seconds.FindStringSubmatch(o.out)
			require.NotNil(t, m, o.out)
			took, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			if own {
				series.Samples = append(series.Samples, took)
			} else {
				series.Over = append(series.Over, took)
			}
		}
	}
	t.Logf("bound to one core %v s, as Muster sets it %v s", series.Samples, series.Over)
	record(t, "fake-binding", series, figure.Row{Name: "two fake workers, one rank each: bound to a core, against our environment", Unit: "ratio"})
}

// ownCPUs is the list of processors that we may use.
func ownCPUs(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	require.FailNow(t, "no Cpus_allowed_list")
	return ""
}
