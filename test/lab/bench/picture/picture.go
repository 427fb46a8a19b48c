package picture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// Dimensions of the page, in points.
const (
	width  = 760.0
	margin = 16.0
	size   = 12.0 // font size
	step   = 24.0 // height of a line of text
	tall   = 210.0
	letter = 0.57 * size // maximum average width of a letter
)

// Draw returns the table's picture, or nil if no column is drawn or no drawn column has numbers.
func Draw(t report.Table) ([]byte, error) {
	var panels []*plot.Plot
	var heights []float64
	names := contenders(t)
	lines := severalSizes(t)
	for _, column := range t.Drawn {
		rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r report.Row) bool { return len(r.Cells[column]) == 0 })
		if len(rows) == 0 {
			continue
		}
		p, high := plot.New(), tall+3*step
		var err error
		if lines {
			err = overSizes(p, t, column, rows, names)
		} else {
			high = step * float64(len(rows)+3)
			err = byRow(p, t, column, rows)
		}
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", t.Name, err)
		}
		for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font} {
			*f = sans()
		}
		panels, heights = append(panels, p), append(heights, high)
	}
	if len(panels) == 0 {
		return nil, nil
	}
	if !lines {
		names = nil // the panels name their rows
	}
	return page(titleOf(t), names, panels, heights)
}

func sans() font.Font { return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size} }

// page arranges the title, the contenders' marks and the panels from top to bottom.
func page(title string, names []string, panels []*plot.Plot, heights []float64) ([]byte, error) {
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding, legend.TextStyle.Font = true, true, 5, sans()
	for i, name := range names {
		sign, err := plotter.NewScatter(plotter.XYs{{}})
		if err != nil {
			return nil, err
		}
		sign.GlyphStyle = mark(i)
		legend.Add(elide(name, width-2*margin-2*step), sign)
	}
	headed := wrap(title, width-2*margin)
	high := step * float64(len(headed)+len(names)+1)
	for _, h := range heights {
		high += h + margin
	}
	svg := vgsvg.New(width, vg.Length(high))
	c := draw.Crop(draw.New(svg), margin, -margin, 0, -margin)
	top := c.Max.Y
	style := legend.TextStyle
	style.YAlign = draw.YTop
	for _, line := range headed {
		c.FillText(style, vg.Point{X: c.Min.X, Y: top}, line)
		top -= step
	}
	c.Max.Y = top
	legend.Draw(c)
	top -= vg.Length(step * float64(len(names)))
	for i, p := range panels {
		at := c
		at.Max.Y, at.Min.Y = top, top-vg.Length(heights[i])
		p.Draw(at)
		top = at.Min.Y - margin
	}
	var b bytes.Buffer
	_, err := svg.WriteTo(&b)
	// Arial has the same width. If neither font is available, a sans-serif font fits best.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,sans-serif")), err
}

// titleOf returns the table's title, and the size of its rows if all have the same one.
func titleOf(t report.Table) string {
	if n := t.Rows[0].Size; n != 0 && !slices.ContainsFunc(t.Rows, func(r report.Row) bool { return r.Size != n }) {
		return t.Title + ", " + report.Number(float64(n)) + " " + t.Over
	}
	return t.Title
}

// contenders returns the names of the rows, in the order of their first appearance.
func contenders(t report.Table) (names []string) {
	for _, r := range t.Rows {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

func severalSizes(t report.Table) bool {
	first := map[string]int{}
	for _, r := range t.Rows {
		if size, ok := first[r.Name]; ok && size != r.Size {
			return true
		}
		first[r.Name] = r.Size
	}
	return false
}

// elide shortens s to a width.
func elide(s string, most float64) string {
	if letters := []rune(s); letter*float64(len(letters)) > most {
		return string(letters[:max(1, int(most/letter)-1)]) + "…"
	}
	return s
}

// wrap breaks s at blanks into lines of a width.
func wrap(s string, most float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && letter*float64(len([]rune(line+" "+word))) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, elide(line, most))
	}
	return lines
}
