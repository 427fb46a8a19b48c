package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
)

func tables() []report.Table {
	return []report.Table{
		{Name: "launch", Title: "Start to the first line", Over: "workers", Columns: []report.Column{{Name: "last rank's first line", Unit: "s"}, {Name: "streams"}}, Drawn: []int{0},
			Rows: []report.Row{
				{Name: "kubexec.sh", Size: 60, Cells: [][]float64{{3, 4, 3.7}, {60}}},
				{Name: "kubexec.sh, mpi-operator's names", Size: 60, Cells: [][]float64{{23.5}, {60}}},
				{Name: "ssh", Size: 60, Cells: [][]float64{{3.5}, {}}},
				{Name: "Muster", Size: 60, Cells: [][]float64{{1.4}, {0}}},
				{Name: "Muster", Size: 2, Cells: [][]float64{{0.2}, {0}}},
				{Name: "mpirun's own floor", Size: 60, Cells: [][]float64{{1.35}, {}}},
			}, Notes: []string{"Open MPI 4.1.4"}, Command: "make bench-launch"},
		{Name: "apply", Title: "Apply to the first line", Over: "workers", Columns: []report.Column{{Name: "apply to line", Unit: "s"}, {Name: "not drawn"}}, Drawn: []int{0},
			Rows: []report.Row{
				{Name: "mpi-operator v0.6.0", Size: 20, Cells: [][]float64{{9}, {1}}},
				{Name: "LaunchJob", Size: 20, Cells: [][]float64{{4}, {1}}},
			}},
		{Name: "throughput", Title: "Throughput", Over: "sessions", Columns: []report.Column{{Name: "throughput", Unit: "MiB/s"}}, Drawn: []int{0},
			Rows: []report.Row{
				{Name: "Muster", Size: 4, Cells: [][]float64{{400}}},
				{Name: "Muster", Size: 1, Cells: [][]float64{{240}}},
				{Name: "kubectl exec", Size: 1, Cells: [][]float64{{210}}},
				{Name: "kubectl exec by SPDY", Size: 1, Cells: [][]float64{{190}}},
			}},
		{Name: "micro", Title: "Parts", Columns: []report.Column{{Name: "time", Unit: "ns"}}, Rows: []report.Row{{Name: "kubectl Muster", Cells: [][]float64{{1}}}}},
	}
}

func TestCompared(t *testing.T) {
	got, ok := compared(tables())
	require.True(t, ok)
	require.True(t, strings.HasPrefix(got, "| | kubexec.sh"))
	figures := strings.TrimPrefix(got, properties)
	require.Equal(t, `| mpirun's start to the last rank's first line, s, 60 workers | 3.7 (3 to 4); mpi-operator's names: 23.5 | 3.5 | 1.4 |
| streams, 60 workers | 60; mpi-operator's names: 60 | - | 0 |
| apply to line, s, 20 workers | - | 9 | 4 |
| throughput of a session's output through the whole path, MiB/s, 1 session | 210; by SPDY: 190 | - | 240 |
`, figures)
	for line := range strings.Lines(got) {
		require.Equal(t, 5, strings.Count(line, "|")-strings.Count(line, `\|`), line)
	}
	_, ok = compared(tables()[3:])
	require.False(t, ok, "none of these tables is part of the comparison")
}

func TestWriteDocs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "docs", "bench")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gone.svg"), nil, 0o644))
	bars := []figure.Row{
		{Name: "a|b", Value: 1.1, Op: "<=", Bar: 1.15, Pass: true, Command: "make bench-launch"},
		{Name: "missed", Value: 3, Unit: "s", Op: "<=", Bar: 2, Command: "make bench-scale"},
		{Name: "shown", Value: 5, Pass: true, Command: "make bench"},
		{Name: "from another command", Command: "make size"},
	}
	require.NoError(t, writeDocs(dir, tables(), bars))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "README.md"), filepath.Join(dir, "apply.svg"), filepath.Join(dir, "launch.svg"), filepath.Join(dir, "throughput.svg")}, files)
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	page := string(text)
	for _, want := range []string{"| a\\|b | 1.1 | <= 1.15 | held |\n", "| missed | 3 s | <= 2 | **missed** |\n", "| shown | 5 |  |  |\n", "## Start to the first line\n`make bench-launch`\n\n![",
		"(launch.svg)", "- Open MPI 4.1.4\n", "| ssh | 60 | 3.5 | - |\n"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "from another command")
	require.NotContains(t, page, "micro.svg")
	require.Equal(t, docsPage(tables(), nil, nil), docsPage(tables(), nil, nil))
	require.NotContains(t, docsPage(tables(), nil, nil), "## Bars")
}

func TestRun(t *testing.T) {
	out := t.TempDir()
	t.Setenv("MUSTER_OUT", out)
	comparison, docs := filepath.Join(t.TempDir(), "comparison.md"), filepath.Join(t.TempDir(), "docs")
	before := "a\n<!-- compared: begin -->\nold\n<!-- compared: end -->\nb\n"
	require.NoError(t, os.WriteFile(comparison, []byte(before), 0o644))
	text := func() string {
		text, err := os.ReadFile(comparison)
		require.NoError(t, err)
		return string(text)
	}
	require.ErrorContains(t, run(comparison, docs), "nothing is changed")
	require.NoDirExists(t, docs)
	require.Equal(t, before, text())

	all := tables()
	require.NoError(t, report.Save(all[len(all)-1]))
	require.NoError(t, run(comparison, docs))
	require.Equal(t, before, text(), "the table is not part of the comparison")
	require.FileExists(t, filepath.Join(out, "bench.json"))

	for _, table := range all {
		require.NoError(t, report.Save(table))
	}
	require.NoError(t, run(comparison, docs))
	want, _ := compared(all)
	require.Equal(t, "a\n<!-- compared: begin -->\n"+want+"<!-- compared: end -->\nb\n", text())
}

// TestThePageHasTheProperties checks that docs/explanation/comparison.md has the properties of compared.md.
func TestThePageHasTheProperties(t *testing.T) {
	text, err := os.ReadFile("../../../docs/explanation/comparison.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "<!-- compared: begin")
	require.True(t, ok)
	_, rest, _ = strings.Cut(rest, "\n")
	require.True(t, strings.HasPrefix(rest, properties), "make bench updates them")
	require.Contains(t, rest, "<!-- compared: end -->")
}
