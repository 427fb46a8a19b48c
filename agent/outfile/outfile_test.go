package outfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func ours(text []byte) bool { return string(text) == "ours\n" || string(text) == "new\n" }

// TestWriteSparesOthers checks that a file that Muster did not write keeps its content, whatever
// path leads to it.
func TestWriteSparesOthers(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		existing string // content of the file; "" means no file
		want     string
	}{
		"nothing": {"", "new\n"}, "ours": {"ours\n", "new\n"}, "theirs": {"theirs\n", "theirs\n"}, "ours and more": {"ours\nmore\n", "ours\nmore\n"},
	} {
		path := filepath.Join(dir, name)
		link := path + ".link"
		require.NoError(t, os.Symlink(path, link))
		if tc.existing != "" {
			require.NoError(t, os.WriteFile(path, []byte(tc.existing), 0o644))
		}
		for _, way := range []string{path, link} {
			err := Write(way, []byte("new\n"), ours)
			if tc.want == "new\n" {
				require.NoError(t, err, way)
			} else {
				var taken *TakenError
				require.ErrorAs(t, err, &taken, way)
				require.Equal(t, way, taken.Path)
			}
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, tc.want, string(text), name)
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&fs.ModeSymlink, "a link must stay a link")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644))
	require.NoError(t, Write(filepath.Join(dir, "empty"), []byte("new\n"), ours), "an empty file is overwritten, since nothing is lost")
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestErrors checks that errors name the path that the user typed, and the cause.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no", "file")
	require.ErrorIs(t, Check(missing, ours), fs.ErrNotExist)
	require.ErrorContains(t, Check(missing, ours), "write "+missing+": ")
	require.ErrorContains(t, Check(dir, ours), "is a directory")
	err := Write("/dev/full", []byte("new\n"), ours)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "write /dev/full: ")
	require.NoError(t, Write(os.DevNull, []byte("new\n"), ours))
}
