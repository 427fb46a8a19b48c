package rundir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTemp(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	t.Setenv("TMPDIR", "")

	got, err := temp(dir, dir)
	require.NoError(t, err)
	require.Empty(t, got, "the usual directory is writable")
	got, err = OwnTemp(dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "tmp"), got, "the usual directory is shared")
	require.NoError(t, os.Remove(got))

	t.Setenv("TMPDIR", missing)
	got, err = temp(dir, missing)
	require.NoError(t, err)
	require.Empty(t, got, "TMPDIR of the user is kept")
	got, err = OwnTemp(dir)
	require.NoError(t, err)
	require.Empty(t, got, "TMPDIR of the user is kept")
	t.Setenv("TMPDIR", "")

	for range 2 { // created, then found
		got, err = temp(dir, missing)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "tmp"), got)
		info, err := os.Lstat(got)
		require.NoError(t, err)
		require.Equal(t, os.ModeDir|0o700, info.Mode())
	}

	require.NoError(t, os.Remove(got))
	require.NoError(t, os.Symlink(t.TempDir(), got))
	_, err = temp(dir, missing)
	require.ErrorContains(t, err, "not a directory", "a symlink is not followed")
}
