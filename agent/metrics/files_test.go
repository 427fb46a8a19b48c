package metrics

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	save := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	tagged := save("tagged.log", "agent: 2 of 2 workers\n1: loss=1\n0: loss=2\n\n 0: loss=3\n1: loss=4\n")
	untagged := save("epochs.log", "training\n0: loss=2\n1: loss=1\n")
	openmpi := save("ompi.log", "mpirun says\n[1,1]<stdout>:loss=8\n[1,0]<stdout>:loss=9\n[1,1]<stdout>:loss=7\n")
	rank0, rank1 := save("rank-0.out", "loss=5\n"), save("rank-1.out", "loss=6")
	for _, row := range []struct {
		paths []string
		tags  Tags
		stdin string
		want  []float64 // count, last, rank
		notes int
	}{
		{[]string{tagged}, TagsAuto, "", []float64{2, 3, 0}, 1},
		{[]string{tagged}, TagsNone, "", []float64{4, 4, 0}, 0},
		{[]string{untagged}, TagsAuto, "", []float64{2, 1, 0}, 0},
		{[]string{untagged}, TagsAll, "", []float64{1, 2, 0}, 0},
		{[]string{openmpi}, TagsAuto, "", []float64{1, 9, 0}, 0},
		{[]string{rank1, rank0}, TagsAuto, "", []float64{1, 5, 0}, 0},
		{[]string{rank1}, TagsAuto, "", []float64{1, 6, 1}, 0},
		{[]string{"-"}, TagsAuto, "4: loss=1\n2: loss=7\n", []float64{1, 7, 2}, 1},
		{[]string{rank1, "-", rank1}, TagsAuto, "loss=1", []float64{1, 1, 0}, 0},
		{[]string{untagged, openmpi, rank0}, TagsAuto, "", []float64{4, 5, 0}, 0},
	} {
		c := collector(t, "loss")
		notes, err := c.Files(row.paths, strings.NewReader(row.stdin), row.tags)
		require.NoError(t, err)
		require.Len(t, notes, row.notes)
		got := c.Series()[0]
		require.Equal(t, row.want, []float64{float64(got.Count), got.Last, float64(got.Rank)}, row.paths)
	}
	c := collector(t, "loss")
	_, err := c.Files([]string{rank0, filepath.Join(dir, "none")}, nil, TagsAuto)
	require.ErrorContains(t, err, "read log: open ")
	_, err = c.Files([]string{dir}, nil, TagsAuto)
	require.ErrorContains(t, err, "is a directory")
}
