package hostfile

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hostfile")
	require.NoError(t, Write(path, []byte("a slots=1\n"), 0o600))
	require.NoError(t, Write(path, []byte("b slots=2\n"), 0o666))

	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "b slots=2\n", string(got))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o666), info.Mode().Perm(), "the umask must not apply")
	requireAlone(t, path)
}

func TestWriteReplacesALink(t *testing.T) {
	dir := t.TempDir()
	target, path := filepath.Join(t.TempDir(), "other"), filepath.Join(dir, "hostfile")
	require.NoError(t, os.WriteFile(target, []byte("theirs"), 0o600))
	require.NoError(t, os.Symlink(target, path))
	require.NoError(t, Write(path, []byte("ours"), 0o600))

	theirs, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "theirs", string(theirs))
}

func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.MkdirAll(filepath.Join(taken, "inside"), 0o700))

	for name, tc := range map[string]struct {
		path string
		want error
	}{
		"no such directory":               {filepath.Join(dir, "none", "hostfile"), fs.ErrNotExist},
		"parent is a file":                {filepath.Join(file, "hostfile"), nil},
		"path is a directory":             {taken, nil},
		"directory without regular files": {"/proc/hostfile", nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := Write(tc.path, []byte("a slots=1\n"), 0o600)
			require.ErrorContains(t, err, "write hostfile: ")
			require.ErrorContains(t, err, filepath.Dir(tc.path))
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary files were left behind")
}

// TestWriteIsAtomic checks that readers always see the old or the new list, complete, however often
// they read.
func TestWriteIsAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hostfile")
	short := []byte("a slots=1\n")
	long := []byte(strings.Repeat("b slots=2\n", 10_000))
	require.NoError(t, Write(path, short, 0o600))

	stop := make(chan struct{})
	var writer sync.WaitGroup
	var failed error
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if failed = Write(path, [][]byte{short, long}[i%2], 0o600); failed != nil {
				return
			}
		}
	})
	seen := map[int]int{}
	for range 2000 {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(got, short) || bytes.Equal(got, long), "read an incomplete list of %d bytes", len(got))
		seen[len(got)]++
	}
	close(stop)
	writer.Wait()
	require.NoError(t, failed)
	t.Logf("lists seen by length: %v", seen)
	requireAlone(t, path)
}

func requireAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, filepath.Base(path), entries[0].Name())
}
