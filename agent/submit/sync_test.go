package submit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell runs a script with nothing but the variables.
func shell(t *testing.T, script string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestCloneScript runs it: branches, tags, commits, words that a shell would take for
// its own, and a second run over what the first has left.
func TestCloneScript(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "a repo.git")
	out, err := shell(t, `set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
git init -q -b main "$REPO"; cd "$REPO"; echo one > f; git add f; git commit -qm one; git tag v1; git rev-parse HEAD
git checkout -qb dev; echo dev > f; git commit -qam two; git checkout -q main; echo three > f; git commit -qam three`, "REPO="+repo)
	require.NoError(t, err, out)
	first := strings.TrimSpace(out)
	root := t.TempDir()
	for _, c := range []struct{ branch, rev, want string }{
		{"", "", "three"}, {"dev", "", "dev"}, {"v1", "", "one"}, {"", first, "one"}, {"dev", "main", "three"},
		{"$(touch pwned)", "", ""}, {"--upload-pack=touch pwned", "", ""}, {"nowhere", "", ""}, {"", "nowhere", ""},
	} {
		env := []string{"GIT_SYNC_REPO=file://" + repo, "GIT_SYNC_ROOT=" + root, "GIT_SYNC_DEST=code", "GIT_SYNC_DEPTH=1", "GIT_SYNC_PASSWORD=x", "GIT_SYNC_USERNAME=y"}
		if c.branch != "" {
			env = append(env, "GIT_SYNC_BRANCH="+c.branch)
		}
		if c.rev != "" {
			env = append(env, "GIT_SYNC_REV="+c.rev)
		}
		out, err := shell(t, cloneScript, env...)
		if c.want == "" {
			require.Error(t, err, "%+v", c)
			require.NoFileExists(t, "pwned")
			continue
		}
		require.NoError(t, err, "%+v: %s", c, out)
		got, err := os.ReadFile(filepath.Join(root, "code", "f"))
		require.NoError(t, err)
		require.Equal(t, c.want, strings.TrimSpace(string(got)), "%+v", c)
	}
}
