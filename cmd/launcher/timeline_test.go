//go:build linux

package main

import (
	"encoding/json"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTimelineAddsUp launches fake workers, and compares the timeline with the report, which measures
// by itself. The phases of each worker add up to the wall time within 1 %.
func TestTimelineAddsUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent, events, report := filepath.Join(bin, "agent"), filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "report.json")
	launch := osexec.Command(agent, "run", "--fake=3", "--framework=plain", "--events="+events, "--report="+report, "--", "sleep", "4")
	launch.Env = append(os.Environ(), "MUSTER_DIR="+filepath.Join(dir, "r"))
	out, err := launch.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := osexec.Command(agent, "timeline", events, "-o", "json").Output()
	require.NoError(t, err)
	var line struct {
		Seconds float64
		Workers []struct{ Phases map[string]float64 }
	}
	require.NoError(t, json.Unmarshal(text, &line))
	var said struct {
		Wait      float64 `json:"wait_ms"`
		Preflight float64 `json:"preflight_ms"`
		Run       float64 `json:"run_ms"`
	}
	text, err = os.ReadFile(report)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &said))
	require.Len(t, line.Workers, 3)
	for _, w := range line.Workers {
		sum := 0.0
		for _, took := range w.Phases {
			sum += took
		}
		percent := line.Seconds / 100
		require.InDelta(t, line.Seconds, sum, 1e-6)
		require.InDelta(t, said.Run/1000, w.Phases["running"], percent)
		require.InDelta(t, said.Preflight/1000, w.Phases["checking"], percent)
		require.GreaterOrEqual(t, sum, (said.Wait+said.Preflight+said.Run)/1000-percent)
	}
}
