package archive

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTwoRunsBeginAtOnce checks that a run that finds an earlier run, and is overtaken by another one that moves it,
// overwrites nothing and takes nothing of the two.
func TestTwoRunsBeginAtOnce(t *testing.T) {
	dir := t.TempDir()
	old := begin(t, dir, "old")
	old.w.Begin(0)
	old.write(0, "old\n", "")
	require.NoError(t, old.w.Close(0, ""))
	late, err := earlierRun(dir)
	require.NoError(t, err)
	other := begin(t, dir, "other")
	other.w.Begin(0)
	other.write(0, "other\n", "")
	other.write(1, "other\n", "")
	again, err := late.setAside(dir)
	require.NoError(t, err)
	require.True(t, again)
	require.NoError(t, other.w.Close(0, ""))
	require.Equal(t, "0 rank 0: other\n0 rank 1: other\n", shown(t, dir, Choice{}))
	below, err := filepath.Glob(filepath.Join(dir, "run-*-old"))
	require.NoError(t, err)
	require.Len(t, below, 1)
	require.Equal(t, "0 rank 0: old\n", shown(t, below[0], Choice{}))

	begin(t, dir, "late")
	below, err = filepath.Glob(filepath.Join(dir, "run-*-other"))
	require.NoError(t, err)
	require.Len(t, below, 1)
	require.Equal(t, "0 rank 0: other\n0 rank 1: other\n", shown(t, below[0], Choice{}))
}

// TestARunThatIsMovedWhileItBegins checks that all files of a run stay together if a later run moves it while it opens
// them.
func TestARunThatIsMovedWhileItBegins(t *testing.T) {
	dir := t.TempDir()
	one := begin(t, dir, "one")
	one.w.Begin(0)
	one.write(0, "a\n", "")
	later, err := earlierRun(dir)
	require.NoError(t, err)
	one.write(1, "b\n", "")
	again, err := later.setAside(dir)
	require.NoError(t, err)
	require.False(t, again)
	one.write(2, "c\n", "")
	require.NoError(t, one.w.Close(0, ""))
	require.Equal(t, "0 rank 0: a\n0 rank 1: b\n0 rank 2: c\n", shown(t, filepath.Join(dir, one.w.Name()), Choice{}))
	require.NoFileExists(t, filepath.Join(dir, "rank-1.out"))
}

// TestAMoveThatWasCutShort checks that a run completes the move of an earlier one, and does not replace what is in the
// way.
func TestAMoveThatWasCutShort(t *testing.T) {
	dir := t.TempDir()
	old := begin(t, dir, "old")
	old.w.Begin(0)
	old.write(0, "old\n", "")
	old.write(1, "old\n", "")
	require.NoError(t, old.w.Close(0, ""))
	below := filepath.Join(dir, old.w.Name())
	require.NoError(t, os.Mkdir(below, 0o700))
	require.NoError(t, os.Rename(filepath.Join(dir, "rank-0.out"), filepath.Join(below, "rank-0.out")))
	require.NoError(t, os.Link(filepath.Join(dir, "rank-1.out"), filepath.Join(below, "rank-1.out")))
	require.NoError(t, os.Link(filepath.Join(dir, IndexName), filepath.Join(below, IndexName)))
	begin(t, dir, "new")
	require.Equal(t, "0 rank 0: old\n0 rank 1: old\n", shown(t, below, Choice{}))
	require.NoFileExists(t, filepath.Join(dir, "rank-1.out"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), []byte(content(t, below, IndexName)), 0o600)) // by cp -r
	_, err := Open(dir, Run{ID: "newer"})
	require.ErrorContains(t, err, "keep the output of an earlier run: ")
	require.ErrorIs(t, err, os.ErrExist)
	require.Equal(t, "0 rank 0: old\n0 rank 1: old\n", shown(t, below, Choice{}))
}

// TestFilesOfOldReleases checks that the output of a release without an index is kept as well.
func TestFilesOfOldReleases(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{oldLedger: "rank-0.out\n../outside\n", "rank-0.out": "old\n", "notes": "mine\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	j := begin(t, dir, "one")
	j.write(0, "", "")
	require.NoError(t, j.w.Close(0, ""))
	below, err := filepath.Glob(filepath.Join(dir, "run-*", "rank-0.out"))
	require.NoError(t, err)
	require.Len(t, below, 1)
	require.Equal(t, "old\n", content(t, below[0]))
	require.Equal(t, "mine\n", content(t, dir, "notes"))
}

// TestAfterACrash checks that the index of a launcher that was killed can be read, and that the next run keeps its
// files.
func TestAfterACrash(t *testing.T) {
	dir := t.TempDir()
	j := begin(t, dir, "one")
	j.w.Begin(0)
	out, _ := j.streams(0)
	_, err := io.WriteString(out, "last words")
	require.NoError(t, err)
	index, err := os.OpenFile(filepath.Join(dir, IndexName), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = io.WriteString(index, `{"kind":"tim`)
	require.NoError(t, err)
	require.NoError(t, index.Close())
	require.Equal(t, "0 rank 0: last words\n", shown(t, dir, Choice{}))
	x, err := Read(dir)
	require.NoError(t, err)
	require.True(t, x.Ended.IsZero())
	begin(t, dir, "two")
	below, err := filepath.Glob(filepath.Join(dir, "run-*-one"))
	require.NoError(t, err)
	require.Len(t, below, 1)
	require.Equal(t, "0 rank 0: last words\n", shown(t, below[0], Choice{}))
}
