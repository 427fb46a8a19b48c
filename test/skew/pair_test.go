//go:build skew && linux

package skew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch"
	"github.com/musterhq/muster/test/suite/proc"
)

// patience ends a run that hangs; machines may be busy.
const patience = 90 * time.Second

// pair is a launcher of one release over workers of another.
type pair struct{ launcher, workers release }

func (p pair) String() string { return p.launcher.version + "-over-" + p.workers.version }

// outcome is how a run ended.
type outcome struct {
	code     int
	out, err string
	report   launch.Report
}

// run is `agent run --fake=2 FLAGS -- sh -c SCRIPT`; the script finds the
// launcher's side of the agent in $AGENT. Fake workers are made of the agent
// beside the launcher's binary, so each pair has a directory of its own.
func (p pair) run(t *testing.T, script string, flags ...string) outcome {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.Link(p.launcher.path("agent-launcher"), filepath.Join(bin, "agent-launcher")))
	require.NoError(t, os.Link(p.workers.path("agent"), filepath.Join(bin, "agent")))
	// Sockets have short paths.
	dir, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })

	report := filepath.Join(bin, "report.json")
	argv := append([]string{"run", "--fake=2", "--exit=command", "--report=" + report, "--log-level=debug"}, flags...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "agent-launcher"), append(argv, "--", "sh", "-c", script)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, 5*time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MUSTER_DIR=" + dir, "AGENT=" + p.launcher.path("agent")}
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err, stderr.String())
	}
	require.NoError(t, ctx.Err(), "it hangs:\n%s", stderr.String())
	o := outcome{code: cmd.ProcessState.ExitCode(), out: stdout.String(), err: stderr.String()}
	text, err := os.ReadFile(report)
	require.NoError(t, err, o.err)
	require.NoError(t, json.Unmarshal(text, &o.report))
	requireNobodyLeft(t, dir)
	return o
}

// requireNobodyLeft: no process has dir in its environment.
func requireNobodyLeft(t *testing.T, dir string) {
	t.Helper()
	left := func() []proc.Process {
		return proc.Find(func(env []string) bool { return strings.Contains(strings.Join(env, "\x00"), "="+dir) })
	}
	require.Eventually(t, func() bool { return len(left()) == 0 }, 10*time.Second, 50*time.Millisecond, "left: %v", left())
}
