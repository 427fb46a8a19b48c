package report

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 1.5: "1.5", 12.34: "12.3", 123.4: "123", 999.6: "1,000", 0.0001234: "0.000123", 9.996: "10", 100: "100", 12345.6: "12,346",
		1234567: "1,234,567", -3.14159: "-3.14", -12345: "-12,345", 0.5: "0.5", 1e-12: "0", 1000: "1,000", 20: "20",
	} {
		require.Equal(t, want, Number(v), "%v", v)
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		samples          []float64
		median, min, max float64
		text             string
	}{
		{nil, 0, 0, 0, "-"},
		{[]float64{2}, 2, 2, 2, "2"},
		{[]float64{3, 1, 2}, 2, 1, 3, "2 (1 to 3)"},
		{[]float64{4, 1, 2, 3}, 2.5, 1, 4, "2.5 (1 to 4)"},
		{[]float64{100.1, 100.2}, 100.15, 100.1, 100.2, "100"},
	} {
		got := Of(c.samples)
		require.InDelta(t, c.median, got.Median, 1e-9)
		require.Equal(t, []float64{c.min, c.max}, []float64{got.Min, got.Max})
		require.Equal(t, c.text, got.String())
	}
}

func example() Table {
	return Table{
		Name: "launch", Title: "Start to the first line", Order: 10, Over: "workers",
		Columns: []Column{{"time", "s"}, {"requests", ""}},
		Rows: []Row{
			{"ssh", 2, [][]float64{{0.5, 0.4, 0.6}, {}}},
			{"Muster", 2, [][]float64{{0.25}, {3, 3}}},
			{"a|b", 20, [][]float64{{12345}, {1}}},
		},
		Drawn: []int{0}, Command: "make bench-launch", Notes: []string{"Open MPI 4.1.4"},
	}
}

func TestText(t *testing.T) {
	require.Equal(t, `launch: Start to the first line
          workers  time, s           requests
  ssh     2        0.5 (0.4 to 0.6)  -
  Muster  2        0.25              3
  a|b     20       12,345            1
  Open MPI 4.1.4
`, example().Text())
	require.Equal(t, `|  | workers | time, s | requests |
|---|---:|---:|---:|
| ssh | 2 | 0.5 (0.4 to 0.6) | - |
| Muster | 2 | 0.25 | 3 |
| a\|b | 20 | 12,345 | 1 |
`, example().Markdown())
	unsized := Table{Name: "x", Columns: []Column{{"time", "s"}}, Rows: []Row{{"a", 0, [][]float64{{1}}}}}
	require.Equal(t, "|  | time, s |\n|---|---:|\n| a | 1 |\n", unsized.Markdown())
}

func TestLabel(t *testing.T) {
	for c, want := range map[Column]string{
		{"time", "s"}: "time, s", {"lines", ""}: "lines", {"streams held, 2 min", "streams"}: "streams held, 2 min", {"agents' CPU", "s"}: "agents' CPU, s",
		{"launcher's CPU", "s"}: "launcher's CPU, s", {"requests a worker", "requests"}: "requests a worker",
	} {
		require.Equal(t, want, c.Label())
	}
}

func TestSaveReadWrite(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MUSTER_OUT", dir)
	_, err := Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	second, first := example(), example()
	first.Name, first.Order = "zero", 5
	require.NoError(t, Save(second))
	require.NoError(t, Save(first))
	all, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, []Table{first, second}, all)

	require.NoError(t, Write(dir, all))
	data, err := os.ReadFile(filepath.Join(dir, "bench.json"))
	require.NoError(t, err)
	var book []struct {
		Name string
		Rows []struct {
			Name  string
			Size  int
			Cells []Cell
		}
	}
	require.NoError(t, json.Unmarshal(data, &book))
	require.Equal(t, "zero", book[0].Name)
	require.Equal(t, Cell{[]float64{0.5, 0.4, 0.6}, 0.5, 0.4, 0.6}, book[1].Rows[0].Cells[0])
	require.Equal(t, "ssh", book[1].Rows[0].Name)
}

func TestInvalidTablesAreRejected(t *testing.T) {
	t.Setenv("MUSTER_OUT", t.TempDir())
	for name, break_ := range map[string]func(*Table){
		"names no file":   func(t *Table) { t.Name = "../x" },
		`"" names no`:     func(t *Table) { t.Name = "" },
		"1 cells for 2":   func(t *Table) { t.Rows[1].Cells = t.Rows[1].Cells[:1] },
		"drawn column 2":  func(t *Table) { t.Drawn = []int{2} },
		"drawn column -1": func(t *Table) { t.Drawn = []int{-1} },
	} {
		bad := example()
		break_(&bad)
		require.ErrorContains(t, Save(bad), name)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bench"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bench", "x.json"), []byte(`{"name":"x","columns":[{}],"rows":[{}]}`), 0o644))
	_, err := Read(dir)
	require.ErrorContains(t, err, "x.json")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bench", "x.json"), []byte(`{`), 0o644))
	_, err = Read(dir)
	require.Error(t, err)
}
