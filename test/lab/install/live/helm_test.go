//go:build e2e

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/program"
)

var built sync.Mutex

// helmPath is Helm, built from its module once for each version, beside the cluster's other programs.
func helmPath(t *testing.T) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	m := program.Module{Dir: "../helm", Path: "helm.sh/helm/v3", Name: "helm", Commands: []string{"cmd/helm"}, Stamp: "helm.sh/helm/v3/internal/version.version"}
	dir, err := m.Build(t.Context())
	require.NoError(t, err)
	return filepath.Join(dir, "helm")
}

// helm runs it with directories of the test's own, so that nobody's settings count.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), helmPath(t), args...)
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustHelm fails the test where Helm does.
func mustHelm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := helm(t, args...)
	require.NoError(t, err, "helm %v\n%s", args, out)
	return out
}
