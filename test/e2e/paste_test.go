//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/page"
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
	ctx, stop := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", lines)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "NAMESPACE="+s.name,
		"PATH="+bin+":"+filepath.Dir(kube.Path())+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkout copies the files of the repository, as they are now, with our images in the
// places of the released ones.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd ../.. && git ls-files -coz --exclude-standard | tar --null --ignore-failed-read -T - -c | tar -x -C "$0"`, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"images/install.yaml", "images/deploy/controller.yaml"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), released)
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), released, "localhost/")), 0o600))
	}
	return dir
}

// released is where the released images are, which no test can pull.
const released = "ghcr.io/musterhq/"

// paste does what a page says, in the order of its blocks: it writes the manifests that
// have a name, and runs the commands, those for a launcher in one.
func (s *space) paste(name string, blocks []page.Block, w world) {
	s.t.Helper()
	dir := checkout(s.t)
	bin := agentDir(s.t)
	python, err := exec.LookPath("python3")
	require.NoError(s.t, err)
	require.NoError(s.t, os.Symlink(python, filepath.Join(bin, "python")))
	kubeconfig := s.home(s.t.TempDir())
	for file, text := range w.files {
		require.NoError(s.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	ours := strings.NewReplacer(append(w.words, standIns(s.name)...)...)
	for _, b := range blocks {
		if b.Language == "yaml" && b.Word != "" {
			require.NoError(s.t, os.WriteFile(filepath.Join(dir, b.Word), []byte(ours.Replace(b.Text)), 0o600))
		}
	}
	run := func(at, text string) {
		begin := time.Now()
		out, err := s.shell(dir, bin, kubeconfig, text)
		require.NoError(s.t, err, "%s\n%s\n%s", at, text, out)
		s.t.Logf("%s (%.1f s)\n$ %s%s", at, time.Since(begin).Seconds(), text, out)
	}
	if w.before != "" {
		run(name+", before", ours.Replace(w.before))
	}
	for _, b := range blocks {
		text := b.Commands()
		if text == "" || b.NotRun != "" {
			continue
		}
		if text = ours.Replace(text); b.Word == "launcher" {
			s.pasteInLauncher(b, text)
			continue
		}
		run(b.At(), text)
	}
}

// pasteInLauncher runs commands in the launcher's pod of a job of their own, which no
// agent run has used before.
func (s *space) pasteInLauncher(b page.Block, text string) {
	s.t.Helper()
	j := job{name: fmt.Sprintf("line%d", b.Line), image: "openmpi", workers: 4, slots: 2, edit: func(pod *corev1.Pod) {
		if c := &pod.Spec.Containers[0]; pod.Labels["muster.dev/role"] == "launcher" {
			c.Command, c.Args = []string{"sleep", "600"}, nil
			c.Env = append(c.Env, corev1.EnvVar{Name: "MUSTER_JOB", Value: pod.Labels["muster.dev/job"]})
		}
	}}
	s.start(j)
	s.ready(2*time.Minute, j.launcherName())
	got := s.exec(2*time.Minute, j.launcherName(), "sh", "-ec", `export PATH="/muster:$PATH"; `+text)
	require.Zero(s.t, got.code, "%s\n%s\n%+v", b.At(), text, got)
	s.t.Logf("%s, in a launcher\n$ %s%s%s", b.At(), text, got.stdout, got.stderr)
}

// TestPasteReadme pastes README.md, whose own command installs the controller.
func TestPasteReadme(t *testing.T) {
	pages, err := page.Pages("../..")
	require.NoError(t, err)
	s := newSpaceWith(t, "baseline")
	s.paste("README.md", pages["README.md"], worldOf("README.md"))
	s.kubectl("-n", "muster-system", "rollout", "status", "deployment/muster-controller", "--timeout=60s")
}

// TestPastePages pastes every page of docs, each into a namespace that has never seen it.
func TestPastePages(t *testing.T) {
	withController(t)
	foreignKinds(t)
	pages, err := page.Pages("../..")
	require.NoError(t, err)
	delete(pages, "README.md")
	for name, blocks := range pages {
		if !slices.ContainsFunc(blocks, func(b page.Block) bool { return b.Commands() != "" && b.NotRun == "" }) {
			continue
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md"), func(t *testing.T) {
			t.Parallel()
			s := newSpaceWith(t, "baseline") // images of old run as root
			w := worldOf(name)
			if w.prepare != nil {
				w.prepare(s)
			}
			s.paste(name, blocks, w)
			if strings.HasPrefix(name, "docs/migrate/") {
				require.Empty(t, s.ljs(), "the way back leaves no job")
			}
		})
	}
}
