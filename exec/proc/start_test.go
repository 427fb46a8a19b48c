//go:build linux

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// programs returns a directory with an executable program and a file that is not executable.
func programs(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "train"), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "notes"), nil, 0o644))
	return dir
}

func TestLookPath(t *testing.T) {
	dir := programs(t)
	for _, c := range []struct {
		state, name, path, want string
		wrong                   error
	}{
		{"in PATH", "train", "/no/such:" + dir + "/bin", dir + "/bin/train", nil},
		{"a relative PATH entry", "train", "bin", dir + "/bin/train", nil},
		{"a path", "./train", "", "./train", nil},
		{"a directory", "bin", dir, "", syscall.ENOENT},
		{"not executable", "notes", dir + "/bin", "", syscall.EACCES},
		{"not found", "serve", dir + "/bin", "", syscall.ENOENT},
	} {
		t.Run(c.state, func(t *testing.T) {
			path, err := LookPath(c.name, []string{"PATH=/first", "A=b", "PATH=" + c.path}, dir)
			require.ErrorIs(t, err, c.wrong)
			require.Equal(t, c.want, path)
		})
	}
	path, err := LookPath("sh", nil, "")
	require.NoError(t, err, "without PATH")
	require.Contains(t, []string{"/usr/local/bin/sh", "/usr/bin/sh", "/bin/sh"}, path)
}

func TestLookOwnPath(t *testing.T) {
	dir := programs(t)
	t.Setenv("PATH", dir+"/bin")
	for _, c := range []struct {
		state, name, dir, want string
		wrong                  error
	}{
		{"in PATH", "train", "/tmp", dir + "/bin/train", nil},
		{"a path", "/x/train", dir, "/x/train", nil},
		{"a relative path", "./train", "/x", "/x/train", nil},
		{"a relative path, no directory", "./train", "", "./train", nil},
		{"not executable", "notes", "", "", exec.ErrNotFound},
		{"not found", "serve", "", "", exec.ErrNotFound},
	} {
		t.Run(c.state, func(t *testing.T) {
			path, err := LookOwnPath(c.name, c.dir)
			require.ErrorIs(t, err, c.wrong)
			require.Equal(t, c.want, path)
		})
	}
}

func TestUnstarted(t *testing.T) {
	dir := programs(t)
	_, nowhere := LookPath("serve", nil, dir)
	_, unowned := LookOwnPath("no-such-program", dir)
	_, below := reap.New().Start(reap.Spec{Path: dir + "/bin/train/x"})
	_, data := reap.New().Start(reap.Spec{Path: dir + "/bin/notes"})
	for want, errs := range map[int][]error{127: {nowhere, unowned, below}, 126: {data}} {
		for _, err := range errs {
			require.Equal(t, wire.ExitRecord{Code: want, Error: err.Error()}, Unstarted(err))
		}
	}
}

func TestEnded(t *testing.T) {
	st := reap.Status{Code: 139, Signal: syscall.SIGSEGV, Core: true}
	require.Equal(t, wire.ExitRecord{Code: 139, Signal: 11, Core: true, OOM: 2, EndedMillis: 1500}, Ended(st, 2, time.UnixMilli(1500)))
}

func TestMarked(t *testing.T) {
	env := []string{"A=1", "MUSTER_SESSION=outer", "B=2", "A=3", "odd"}
	require.Equal(t, []string{"A=3", "MUSTER_SESSION=s1", "B=2", "odd"}, Marked(env, "s1"))
	require.Equal(t, "A=1", env[0], "the caller's slice is unchanged")
}

func TestRestGrace(t *testing.T) {
	for _, c := range []struct{ grace, past, want time.Duration }{
		{0, time.Hour, 0}, {500 * time.Millisecond, time.Hour, 500 * time.Millisecond}, {time.Minute, time.Hour, time.Second},
	} {
		require.Equal(t, c.want, RestGrace(c.grace, time.Now().Add(-c.past)))
	}
	require.InDelta(t, 50, RestGrace(time.Minute, time.Now().Add(-10*time.Second)).Seconds(), 1)
}

func TestSignalName(t *testing.T) {
	require.Equal(t, "SIGTERM", SignalName(syscall.SIGTERM))
	require.Equal(t, "signal 64", SignalName(64))
}
