//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// TestPreflightSparesFake measures what a spare adds to a launch on 20 fake workers, one of which fails a check. Each
// launch has a partner in which the same check passes.
func TestPreflightSparesFake(t *testing.T) {
	dir, launcher := t.TempDir(), cli(t)
	require.NoError(t, program.Own(filepath.Dir(launcher), nil, "agent"))
	launch := func(bad string) (seconds float64, r report.Report) {
		path := filepath.Join(dir, "report.json")
		began := time.Now()
		out, err := exec.CommandContext(t.Context(), launcher, "run", "--fake=20", "--spares=2", "--framework=plain", "--preflight=fail",
			"--preflight-command=test $MUSTER_WORKER != "+bad, "--report="+path, "--", "true").CombinedOutput()
		seconds = time.Since(began).Seconds()
		require.NoError(t, err, "%s", out)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &r))
		return seconds, r
	}
	launch("none")
	added := figure.Series{Unit: "s", Reduce: "median"}
	for range 7 {
		without, r := launch("none")
		require.Empty(t, r.Spares)
		with, r := launch("127.0.0.9")
		require.Len(t, r.Spares, 1)
		require.Equal(t, "127.0.0.22", r.Spares[0].Spare)
		added.Samples = append(added.Samples, with-without)
	}
	const name = "time added by a spare for a worker that fails its preflight: 20 fake workers"
	record(t, figure.Row{Name: name, Op: "<=", Bar: 2}, map[string]figure.Series{name: added})
}

// TestPreflightSparesPods is the same with pods. The launcher says how long it took from the failed check until the
// spare had the place.
func TestPreflightSparesPods(t *testing.T) {
	added := figure.Series{Unit: "s", Reduce: "max"}
	for i := range 3 {
		s := newSpace(t)
		j := job{name: "check", image: "openmpi", workers: 5, slots: 1, command: []string{"true"},
			flags: []string{"--workers=4", "--spares=1", "--framework=plain", "--preflight=fail", fmt.Sprintf("--preflight-command=test $(hostname) != check-worker-%d", i)}}
		s.start(j)
		e := s.end(j.launcherName(), 2*time.Minute)
		require.Zero(t, e.code, e.log)
		r := s.report(e)
		require.Len(t, r.Spares, 1, e.log)
		require.Equal(t, [2]string{j.workerName(i), j.workerName(4)}, [2]string{r.Spares[0].Worker, r.Spares[0].Spare})
		require.Equal(t, i, r.Spares[0].Position)
		added.Samples = append(added.Samples, float64(r.Spares[0].AddedMS)/1000)
	}
	const name = "time added by a spare for a worker that fails its preflight: pods"
	record(t, figure.Row{Name: name, Op: "<=", Bar: 2}, map[string]figure.Series{name: added})
}
