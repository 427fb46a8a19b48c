//go:build e2e

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var built sync.Mutex

// helmPath is Helm, built from its module once for each version, beside the cluster's other programs.
func helmPath(t *testing.T) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	dir := filepath.Dir(os.Getenv("MUSTER_CLUSTER"))
	if dir == "." {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		dir = filepath.Join(cache, "muster", "bin")
	}
	pinned, err := os.ReadFile("../helm/go.mod")
	require.NoError(t, err)
	version := string(regexp.MustCompile(`helm\.sh/helm/v3 (v\S+)`).FindSubmatch(pinned)[1])
	dir = filepath.Join(dir, "helm-"+version)
	path := filepath.Join(dir, "helm")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	t.Logf("building Helm %s: minutes, once", version)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	build := exec.Command("nice", "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", "-s -w -X helm.sh/helm/v3/internal/version.version="+version, "-o", path+".part", "helm.sh/helm/v3/cmd/helm")
	build.Dir = "../helm"
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Rename(path+".part", path))
	return path
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
