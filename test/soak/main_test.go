//go:build soak

package soak

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/test/suite/figure"
)

// bin is the directory of agent and agent-launcher.
var bin string

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the server half logs each cut
	code, err := prepared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/soak:", err)
		code = 1
	}
	os.Exit(code)
}

func prepared(m *testing.M) (int, error) {
	if bin = os.Getenv("MUSTER_BIN"); bin != "" {
		var err error
		if bin, err = filepath.Abs(bin); err != nil {
			return 1, err
		}
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "soak-bin")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	for name, pkg := range map[string]string{"agent": "../../cmd/agent", "agent-launcher": "../../cmd/launcher"} {
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-o", filepath.Join(dir, name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	bin = dir
	return m.Run(), nil
}

// record writes a figure where $MUSTER_OUT is set, and requires its bar in any
// case.
func record(t *testing.T, raw string, rows []figure.Row, numbers any) {
	t.Helper()
	dir := os.Getenv("MUSTER_OUT")
	if dir == "" {
		dir = t.TempDir()
	}
	log, err := figure.WriteRaw(dir, raw, numbers)
	require.NoError(t, err)
	for _, row := range rows {
		row.Log = log + row.Log
		got, err := figure.Record(dir, row)
		require.NoError(t, err)
		t.Logf("%s: %g %s (bar %s %g)", got.Name, got.Value, got.Unit, got.Op, got.Bar)
		require.True(t, got.Pass, "%+v", got)
	}
}
