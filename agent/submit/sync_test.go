package submit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell runs a script with only the given variables, PATH and HOME.
func shell(t *testing.T, script string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestCloneScript runs the script with branches, tags, commits and values with shell syntax, and
// runs it again over its own result.
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

// TestSyncDestination checks that code goes only to a directory below the volume, because the
// script first deletes existing files there.
func TestSyncDestination(t *testing.T) {
	for source, want := range map[string]string{
		"https://example.com/team/train.git": "train", "https://example.com/team/train/": "train", "git@example.com:train.git": "train",
		"https://example.com/..": "", "https://example.com/...git": "", "https://example.com/a/../": "", "https://example.com/.": "",
		"https://example.com/.git": "", "git@example.com:..": "", "git@example.com:a/...git": "", "https://example.com/a\nb": "",
	} {
		require.Equal(t, want, repository(source), source)
		_, err := least(func(r *Request) { r.SyncSource = source }).Job()
		require.Equal(t, want == "", err != nil, "%s: %v", source, err)
	}
	for env, ok := range map[string]bool{
		"GIT_SYNC_DEST=train": true, "GIT_SYNC_DEST=a/b": true, "GITSYNC_LINK=a/b": true, "GIT_SYNC_DEST=..a": true, "GIT_SYNC_ROOT=/code/": true,
		"GIT_SYNC_DEST=..": false, "GIT_SYNC_DEST=.": false, "GIT_SYNC_DEST=": false, "GIT_SYNC_DEST=a/..": false, "GIT_SYNC_DEST=../etc": false,
		"GIT_SYNC_DEST=a/../../etc": false, "GIT_SYNC_DEST=/etc": false, "GITSYNC_LINK=../x": false, "GIT_SYNC_ROOT=/": false, "GITSYNC_ROOT=/etc": false,
	} {
		_, err := least(func(r *Request) { r.SyncSource, r.Env = "https://example.com/a.git", []string{env} }).Job()
		require.Equal(t, ok, err == nil, "%s: %v", env, err)
	}
	root := filepath.Join(t.TempDir(), "code")
	kept := filepath.Join(filepath.Dir(root), "kept", "file")
	require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o755))
	require.NoError(t, os.WriteFile(kept, nil, 0o644))
	for _, dest := range []string{"", ".", "..", "../kept", "a/../../kept", "a/..", filepath.Dir(kept)} {
		out, err := shell(t, cloneScript, "GIT_SYNC_REPO=file:///nowhere", "GIT_SYNC_ROOT="+root, "GIT_SYNC_DEST="+dest, "GIT_SYNC_DEPTH=1")
		require.Error(t, err)
		require.Contains(t, out, "is not a directory below", dest)
		require.FileExists(t, kept)
	}
}
