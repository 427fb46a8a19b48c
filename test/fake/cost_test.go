//go:build mpi && cost

package fake

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// mostCost is the maximum ratio of the launcher's processor time with progress rules to that without.
	mostCost = 1.2
	// costPairs is how often both are measured. They take turns, so that other load affects both.
	costPairs = 5
	// costTime is the duration of one measurement, after all ranks have begun to print.
	costTime = 8 * time.Second
)

// TestRulesCostLittle runs 100 ranks that print 100 lines a second each. For the launcher this is the same as 1,000
// ranks with 10 lines. All lines match a rule.
func TestRulesCostLittle(t *testing.T) {
	const ranks = 100
	line := `exec 3<> <(:)
for ((n=0;;n+=10)); do
	for i in 0 1 2 3 4 5 6 7 8 9; do echo "2026-01-02 10:00:00 INFO trainer epoch 3 step $((n+i)) loss=0.2718 tokens/s=18231"; done
	[ $n = 20 ] && : > up.$RANK
	read -t 0.1 <&3
done`
	rules := []string{`--expect=step (\d+)`, "--within=10m", "--fail-on=loss.*nan"}
	used := func(flags []string) time.Duration {
		dir := t.TempDir()
		c := agentRun(t, append([]string{"--fake=4", "--framework=plain", "--procs-per-worker=25", "--chdir", dir}, flags...), "bash", "-c", line)
		c.argv = append([]string{"bash", "-c", `exec "$@" > /dev/null`, "-", filepath.Join(bin, "agent")}, c.argv[1:]...)
		j := start(t, c)
		j.up(dir, ranks)
		before := processorTime(t, j.cmd.Process.Pid)
		time.Sleep(costTime)
		after := processorTime(t, j.cmd.Process.Pid)
		j.signal(syscall.SIGTERM)
		j.wait()
		return after - before
	}
	var ratios []float64
	for range costPairs {
		without, with := used(nil), used(rules)
		ratios = append(ratios, float64(with)/float64(without))
		t.Logf("processor time of the launcher for %d lines: %v without rules, %v with rules, ratio %.2f", int(costTime.Seconds())*ranks*100, without, with, ratios[len(ratios)-1])
	}
	slices.Sort(ratios)
	t.Logf("median ratio %.2f of %.2f", ratios[costPairs/2], ratios)
	require.LessOrEqual(t, ratios[costPairs/2], mostCost)
}

// processorTime returns the user and system time of a process: fields 14 and 15 of proc_pid_stat(5), in hundredths
// of a second.
func processorTime(t *testing.T, pid int) (sum time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		require.NoError(t, err)
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}
