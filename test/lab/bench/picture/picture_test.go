package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"

	"github.com/musterhq/muster/test/lab/bench/report"
)

var update = flag.Bool("update", false, "write the golden files; review them before you commit")

// lines returns a table of several sizes, with a cell that was not measured.
func lines() report.Table {
	return report.Table{
		Name: "lines", Title: "mpirun's start to the last rank's first line", Over: "workers",
		Columns: []report.Column{{Name: "time", Unit: "s"}, {Name: "not drawn"}, {Name: "requests for each worker"}},
		Rows: []report.Row{
			{Name: "kubexec.sh", Size: 2, Cells: [][]float64{{0.4, 0.5, 0.7}, {1}, {2}}},
			{Name: "kubexec.sh", Size: 60, Cells: [][]float64{{5, 5.5, 8}, {1}, {2}}},
			{Name: "kubexec.sh", Size: 20, Cells: [][]float64{{1.8, 2, 2.2}, {1}, {2}}},
			{Name: "Muster", Size: 2, Cells: [][]float64{{0.2, 0.21, 0.2}, {1}, {1}}},
			{Name: "Muster", Size: 20, Cells: [][]float64{{0.6}, {1}, {1.1}}},
			{Name: "Muster", Size: 60, Cells: [][]float64{{1.3, 1.5}, {1}, {}}},
		},
		Drawn: []int{0, 2},
	}
}

// bars returns a table of one size, with names that are not valid in SVG without escaping.
func bars() report.Table {
	return report.Table{
		Name: "bars", Title: `Output through <one> session & "the whole path"`, Over: "workers",
		Columns: []report.Column{{Name: "throughput", Unit: "MB/s"}, {Name: "processor time", Unit: "ms"}},
		Rows: []report.Row{
			{Name: "kubectl exec", Size: 1, Cells: [][]float64{{210, 190, 230}, {0.02}}},
			{Name: "Muster <agent rsh> & co", Size: 1, Cells: [][]float64{{240, 250, 220}, {12}}},
			{Name: "a third]]> that has a name which goes on for so long that no picture of this width could ever have room for the whole of it in one line", Size: 1,
				Cells: [][]float64{{0}, {350, 400}}},
		},
		Drawn: []int{0, 1},
	}
}

func drawn(t *testing.T, table report.Table) []byte {
	svg, err := Draw(table)
	require.NoError(t, err)
	return svg
}

func TestGolden(t *testing.T) {
	for _, table := range []report.Table{lines(), bars()} {
		file := filepath.Join("testdata", table.Name+".svg")
		got := drawn(t, table)
		if *update {
			require.NoError(t, os.WriteFile(file, got, 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.Equal(t, string(got), string(drawn(t, table)), "the same table must yield the same bytes")
	}
}

func TestNothingToDraw(t *testing.T) {
	none := lines()
	none.Drawn = nil
	require.Nil(t, drawn(t, none))
	none.Drawn = []int{0}
	for i := range none.Rows {
		none.Rows[i].Cells[0] = nil
	}
	require.Nil(t, drawn(t, none))
	none.Rows = nil
	require.Nil(t, drawn(t, none))
}

// crowd returns a table with more contenders and sizes, or rows, than any benchmark has.
func crowd(sizes int) report.Table {
	t := report.Table{Title: "Many words in a title " + fmt.Sprint(lines().Title, lines().Title, lines().Title), Over: "workers",
		Columns: []report.Column{{Name: "a", Unit: "s"}}, Drawn: []int{0}}
	for c := range 14 {
		for s := range sizes {
			v := float64(1 + c*s*s)
			t.Rows = append(t.Rows, report.Row{Name: fmt.Sprintf("contender %d", c), Size: 1000 + s*s, Cells: [][]float64{{v, v * 1.2}}})
		}
	}
	return t
}

// edges returns tables with extreme values, which could break a scale.
func edges() (all []report.Table) {
	for _, cells := range [][][]float64{{{0}, {0}}, {{5}, {5}}, {{-3, 2}, {-1}}, {{1e-9}, {1e12}}, {{0}, {1e6}}, {{0.1, 0.2}, {0.3}}, {{9.99}, {100.1}}} {
		for _, sizes := range [][2]int{{0, 0}, {1, 1}, {1, 100000}, {0, 7}} {
			all = append(all, report.Table{Title: "t", Over: "n", Columns: []report.Column{{Name: "c"}}, Drawn: []int{0}, Rows: []report.Row{
				{Name: "a", Size: sizes[0], Cells: [][]float64{cells[0]}}, {Name: "a", Size: sizes[1], Cells: [][]float64{cells[1]}}}})
		}
	}
	return all
}

// TestPicturesAreXMLWithoutOverlappingTexts checks that every picture parses, that every place is a number
// on the page, and that no text overlaps another.
func TestPicturesAreXMLWithoutOverlappingTexts(t *testing.T) {
	tables := append(edges(), lines(), bars(), crowd(1), crowd(12))
	for n, table := range tables {
		texts, names := parse(t, drawn(t, table))
		require.NotEmpty(t, texts)
		for i, a := range texts {
			require.True(t, a.x0 >= 0 && a.x1 <= width+0.1, "table %d: %q is off the page", n, a.text)
			for _, b := range texts[:i] {
				apart := a.x1 <= b.x0 || b.x1 <= a.x0 || a.y1 <= b.y0 || b.y1 <= a.y0
				require.True(t, apart, "table %d: %q overlaps %q", n, a.text, b.text)
			}
		}
		require.Contains(t, names, "svg")
	}
	texts, _ := parse(t, drawn(t, bars()))
	require.Contains(t, fmt.Sprint(texts), "Muster <agent rsh> & co")
}

type box struct {
	text           string
	x0, y0, x1, y1 float64
}

// parse reads a picture: its texts, as boxes, and the names of its elements.
func parse(t *testing.T, svg []byte) (texts []box, names []string) {
	t.Helper()
	var attr map[string]string
	high, inText := 0.0, false
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts, names
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			names, attr = append(names, e.Name.Local), map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
				require.NotContains(t, a.Value, "NaN")
				require.NotContains(t, a.Value, "Inf")
			}
			inText = e.Name.Local == "text"
			if e.Name.Local == "svg" {
				high = place(t, strings.TrimSuffix(attr["height"], "pt"))
			}
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				// In the file, y is relative to the bottom of the page and increases downwards.
				x, y, text := place(t, attr["x"]), high+place(t, attr["y"]), string(e)
				texts = append(texts, box{text, x, y - 0.75*size, x + letter*float64(len([]rune(text))), y + 0.22*size})
			}
		}
	}
}

func place(t *testing.T, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

// TestScale checks that an axis is logarithmic if its values span more than a decade.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		values []float64
		log    bool
		low    float64
		ticks  []string
	}{
		{[]float64{0.4, 3}, false, 0, nil},
		{[]float64{1, 10}, false, 0, nil},
		{[]float64{1, 11}, true, 1, []string{"1", "2", "5", "10"}},
		{[]float64{0, 90}, false, 0, nil},
		{[]float64{3, 4500}, true, 3, []string{"10", "100", "1k"}},
		{[]float64{1000, 2e7}, true, 1000, []string{"1k", "10k", "100k", "1M", "10M"}},
		{[]float64{0, 0}, false, 0, nil},
		{[]float64{-1, 3}, false, -1, nil},
		{[]float64{-1, 400}, false, -1, nil},
	} {
		p := plot.New()
		scale(&p.Y, c.values, true)
		require.Equal(t, c.log, p.Y.Scale == plot.LogScale{}, "%v", c.values)
		require.Equal(t, c.low, p.Y.Min)
		require.Greater(t, p.Y.Max, p.Y.Min)
		for _, v := range c.values {
			require.True(t, p.Y.Norm(v) >= -1e-9 && p.Y.Norm(v) <= 1+1e-9, "%v is drawn at %v", v, p.Y.Norm(v))
		}
		var ticks []string
		for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			ticks = append(ticks, tick.Label)
		}
		if c.log {
			require.Equal(t, c.ticks, ticks, "%v", c.values)
		}
	}
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"one two", "three"}, wrap("one two  three", 7*letter))
	require.Equal(t, []string{"abcdef…"}, wrap("abcdefghijk", 7*letter))
	require.Empty(t, wrap("", 100))
}
