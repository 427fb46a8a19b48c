//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// agentDir builds the agent as it stands here, for commands that people type.
func agentDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, path := range map[string]string{"agent": "agent", "agent-launcher": "launcher"} {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "grpcnotrace", "-o", filepath.Join(dir, name), "../../cmd/"+path).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return dir
}

// home writes a kubeconfig whose namespace is the space's, and gives its path.
func (s *space) home(dir string) string {
	s.t.Helper()
	text, err := s.try(time.Minute, "config", "view", "--raw", "--flatten")
	require.NoError(s.t, err)
	path := filepath.Join(dir, "kubeconfig")
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	_, err = s.try(time.Minute, "--kubeconfig="+path, "config", "set-context", "--current", "--namespace="+s.name)
	require.NoError(s.t, err)
	return path
}

// shell runs lines as somebody would type them: in dir, with agent and kubectl, in the
// namespace.
func (s *space) shell(dir, bin, kubeconfig, lines string) (string, error) {
	ctx, stop := context.WithTimeout(s.t.Context(), 6*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", lines)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "NAMESPACE="+s.name,
		"PATH="+bin+":"+filepath.Dir(kubectlPath())+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	blockOf = regexp.MustCompile("(?ms)^```(sh|yaml [a-z0-9.-]+)\n(.*?)^```$")
	// inOurWorld are the images and programs of the pages' examples.
	inOurWorld = strings.NewReplacer("registry.example.com/pi:1", image("openmpi"), "registry.example.com/train:1", image("openmpi"),
		"/opt/pi", "/opt/muster-test/pi", "--timeout=5m", "--timeout=100s")
)

// TestMigrate does what each page of docs/migrate says: writes its manifests, and runs
// its shell blocks one after the other.
func TestMigrate(t *testing.T) {
	withController(t)
	bin := agentDir(t)
	pages, err := filepath.Glob("../../docs/migrate/*.md")
	require.NoError(t, err)
	require.Len(t, pages, 6)
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			s := newSpaceWith(t, "baseline") // images of old run as root
			dir := t.TempDir()
			kubeconfig := s.home(t.TempDir())
			ran := 0
			for _, block := range blockOf.FindAllStringSubmatch(string(text), -1) {
				content := inOurWorld.Replace(block[2])
				if file, ok := strings.CutPrefix(block[1], "yaml "); ok {
					require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
					continue
				}
				out, err := s.shell(dir, bin, kubeconfig, content)
				require.NoError(t, err, "%s\n%s", content, out)
				t.Logf("$ %s%s", content, out)
				ran++
			}
			require.GreaterOrEqual(t, ran, 2)
			require.Empty(t, s.ljs(), "the way back leaves no job")
		})
	}
}
