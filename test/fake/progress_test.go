//go:build mpi

package fake

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

//go:embed testdata/steps.sh
var stepsSource []byte

// training returns runs of two ranks of steps.sh, started by each mpirun and as a group.
func training(t *testing.T, way string, flags ...string) map[string]call {
	script := filepath.Join(t.TempDir(), "steps.sh")
	require.NoError(t, os.WriteFile(script, stepsSource, 0o644))
	calls := map[string]call{}
	for name, command := range map[string][]string{
		"openmpi": {"mpirun.openmpi", "-np", "2"}, "mpich": {"mpiexec.mpich", "-np", "2"}, "group": nil,
	} {
		all := append([]string{"--fake=2", "--grace=5s", "--output=tag"}, flags...)
		if command == nil {
			all = append(all, "--framework=plain")
		}
		calls[name] = agentRun(t, all, append(command, "sh", script, way)...)
	}
	return calls
}

// expectSteps returns the flags of a rule that stops the run.
func expectSteps(more ...string) []string {
	return append([]string{"--expect", `step (\d+)`, "--within=4s", "--progress-action=stop"}, more...)
}

// TestBrokenRuleStopsTheRun checks that a run that breaks a rule exits with 79. The message, the report and the
// attempt name the rule, the rank, and the last line that matched.
func TestBrokenRuleStopsTheRun(t *testing.T) {
	const expect = `expect 'step (\d+)'`
	for way, row := range map[string]struct {
		flags                     []string
		rule, says, line, rankOfA string
	}{
		"stalled":   {expectSteps(), expect, `the number of expect 'step (\d+)' has not grown beyond 3 for 4.0 s; the last matching line (rank `, "step 3 loss=0.5", ""},
		"repeats":   {expectSteps(), expect, `the number of expect 'step (\d+)' has not grown beyond 7 for 4.0 s; the last matching line (rank `, "step 7 loss=0.5", ""},
		"shrinking": {expectSteps(), expect, `has not grown beyond 1000 for 4.0 s`, "step ", ""},
		"absent":    {expectSteps(), expect, `no progress: no line has matched expect 'step (\d+)' in the first 4.0 s`, "", ""},
		"nan":       {[]string{"--fail-on=loss.*nan"}, "fail-on 'loss.*nan'", `failed line: fail-on 'loss.*nan' matched a line of rank 1: step 4 loss=nan`, "step 4 loss=nan", "rank 1"},
		"one":       {expectSteps("--expect-by=rank"), expect, `no progress on rank 1: the number of expect`, "step 3 loss=0.5", "rank 1"},
	} {
		for name, c := range training(t, way, row.flags...) {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := run(t, c)
				o.wants(t, names.ExitHung)
				require.Contains(t, o.err, row.says)
				require.Len(t, o.report.Stalls, 1)
				one := o.report.Stalls[0]
				require.Equal(t, row.rule, one.Rule)
				require.Contains(t, one.Why, row.says)
				require.Contains(t, one.Line, row.line)
				require.True(t, one.Stopped)
				require.Contains(t, o.report.Why, row.says)
				if row.rankOfA != "" {
					require.Equal(t, row.rankOfA, one.Rank)
					require.Equal(t, row.rankOfA, o.report.Attempts[0].Rank)
				}
				require.Less(t, o.took, 40*time.Second)
			})
		}
	}
}
