//go:build mpi

package fake

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

//go:embed testdata/steps.sh
var stepsSource []byte

// training is a run of two ranks of steps.sh, started by each mpirun and as a group.
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

// expectSteps are flags of a rule that stops the run.
func expectSteps(more ...string) []string {
	return append([]string{"--expect", `step (\d+)`, "--within=4s", "--progress-action=stop"}, more...)
}

// TestARuleFires: the run that breaks a rule ends with 79, and the message, the report
// and the attempt say which rule, which rank, and the last line that matched.
func TestARuleFires(t *testing.T) {
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

// TestARuleIsOnlyReported: without an action the run goes on, and says so when it moves
// again.
func TestARuleIsOnlyReported(t *testing.T) {
	for name, c := range training(t, "slow", "--expect", `step (\d+)`, "--within=1s") {
		if name == "group" {
			o := run(t, c)
			o.wants(t, 0)
			require.Contains(t, o.err, "no progress: the number of expect")
			require.Contains(t, o.err, "progress again: expect")
			require.NotEmpty(t, o.report.Stalls)
			require.False(t, o.report.Stalls[0].Stopped)
		}
	}
}

// TestNoRuleFires: on a run that is slow and moves, whose progress is a bar on standard
// error, and that begins again with lower numbers.
func TestNoRuleFires(t *testing.T) {
	for way, flags := range map[string][]string{
		"slow": expectSteps("--fail-on=loss.*nan"),
		"bar":  expectSteps("--fail-on=loss.*nan"),
	} {
		for name, c := range training(t, way, flags...) {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := run(t, c)
				o.wants(t, 0)
				require.Empty(t, o.report.Stalls)
				require.NotContains(t, o.err, "no progress")
			})
		}
	}
}

// TestAStallIsBegunAgain: after a stall where the user wants that, and the next attempt
// may begin with lower numbers.
func TestAStallIsBegunAgain(t *testing.T) {
	for name, c := range training(t, "restart", expectSteps("--max-restarts=2", "--restart-on=+stall")...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, c)
			o.wants(t, 0)
			require.Len(t, o.report.Stalls, 1)
			require.Len(t, o.report.Attempts, 2)
			require.Contains(t, o.report.Attempts[0].Why, "was stopped: no progress: ")
			require.Contains(t, o.err, "attempt 2 of 3")
		})
	}
}

// TestRanksThatOutlastAnotherAreEnded: rank 0 has ended with 0, and rank 1 waits for
// ever.
func TestRanksThatOutlastAnotherAreEnded(t *testing.T) {
	script := filepath.Join(t.TempDir(), "steps.sh")
	require.NoError(t, os.WriteFile(script, stepsSource, 0o644))
	o := run(t, agentRun(t, []string{"--fake=2", "--framework=plain", "--exit-within=3s"}, "sh", script, "leaves"))
	o.wants(t, names.ExitHung)
	require.Contains(t, o.err, "agent: rank 0 ended with 0 3.0 s ago, and others are still there; stopping sh (--exit-within=3s)")
	require.Contains(t, o.report.Why, "rank 0 ended with 0")
}

// TestRanksThatOutlastAnotherUnderMpirun: rank 0 of an mpirun, or of a script's, has ended with 0, and the
// others stay. A rank of an earlier mpirun does not count.
func TestRanksThatOutlastAnotherUnderMpirun(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		leaves := fmt.Sprintf(`[ $%s = 0 ] || exec sleep 100; sleep 3`, f.rank)
		o := run(t, agentRun(t, []string{"--fake=3", "--exit-within=6s"}, f.mpirun, "-np", "3", "sh", "-c", leaves))
		o.wants(t, names.ExitHung)
		require.Regexp(t, `(?m)^agent: rank 0 ended with 0 \d(\.\d)? s ago, and its mpirun is still there; stopping `+filepath.Base(f.mpirun)+` \(--exit-within=6s\)`, o.err)
		require.Contains(t, o.report.Why, "rank 0 ended with 0")

		twice := f.mpirun + ` -np 3 sleep 3 && ` + f.mpirun + ` -np 3 sh -c 'sleep 9'`
		o = run(t, agentRun(t, []string{"--fake=3", "--exit-within=6s"}, "sh", "-c", twice))
		o.wants(t, 0)
		require.NotContains(t, o.err, "still there")

		o = run(t, agentRun(t, []string{"--fake=3", "--exit-within=6s"}, "sh", "-c", f.mpirun+` -np 3 sh -c '`+leaves+`'; exit 5`))
		o.wants(t, names.ExitHung)
		require.Contains(t, o.report.Why, "rank 0 ended with 0")
	})
}
