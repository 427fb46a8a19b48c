package picture

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg/draw"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// spread implements the interfaces that plotter's error bars need: points, and the extent of the samples around each.
type spread struct {
	plotter.XYs
	plotter.XErrors
	plotter.YErrors
}

// overSizes draws a line for each contender over the sizes.
func overSizes(p *plot.Plot, t report.Table, column int, rows []report.Row, names []string) error {
	var at []float64
	for _, r := range rows {
		at = append(at, float64(r.Size))
	}
	scale(&p.X, at, false)
	p.X.Tick.Marker = places(p.X, at)
	p.X.Label.Text = t.Over
	if p.X.Scale != (plot.LinearScale{}) {
		p.X.Label.Text += " (logarithmic scale)"
	}
	scale(&p.Y, ends(rows, column), true)
	p.Title.Text = heading(t, column, p.Y)
	for i, name := range names {
		var s spread
		for _, r := range rows {
			if c := report.Of(r.Cells[column]); r.Name == name {
				s.XYs = append(s.XYs, plotter.XY{X: float64(r.Size), Y: c.Median})
				s.YErrors = append(s.YErrors, struct{ Low, High float64 }{c.Median - c.Min, c.Max - c.Median})
			}
		}
		if len(s.XYs) == 0 {
			continue
		}
		whiskers, err := plotter.NewYErrorBars(s)
		if err != nil {
			return err
		}
		slices.SortFunc(s.XYs, func(a, b plotter.XY) int { return int(a.X - b.X) })
		line, marks, err := plotter.NewLinePoints(s.XYs)
		if err != nil {
			return err
		}
		line.Color, whiskers.Color = plotutil.Color(i), plotutil.Color(i)
		line.Width, marks.GlyphStyle = 1.5, mark(i)
		p.Add(whiskers, line, marks)
	}
	return nil
}

// mark returns the mark of contender i.
func mark(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: plotutil.Color(i), Shape: plotutil.Shape(i), Radius: 4}
}

// byRow draws a mark for each row, and labels it with the row's name and median.
func byRow(p *plot.Plot, t report.Table, column int, rows []report.Row) error {
	var s spread
	var labels []string
	for i, r := range slices.Backward(rows) { // the first one is the topmost
		c, name := report.Of(r.Cells[column]), r.Name
		if titleOf(t) == t.Title && r.Size != 0 {
			name += ", " + report.Number(float64(r.Size)) + " " + t.Over
		}
		labels = append(labels, elide(name, width/2)+": "+report.Number(c.Median))
		s.XYs = append(s.XYs, plotter.XY{X: c.Median, Y: float64(len(rows) - 1 - i)})
		s.XErrors = append(s.XErrors, struct{ Low, High float64 }{c.Median - c.Min, c.Max - c.Median})
	}
	scale(&p.X, ends(rows, column), true)
	p.Title.Text = heading(t, column, p.X)
	marks, err := plotter.NewScatter(s.XYs)
	if err != nil {
		return err
	}
	whiskers, err := plotter.NewXErrorBars(s)
	if err != nil {
		return err
	}
	marks.GlyphStyle = mark(0)
	p.Add(plotter.NewGrid(), whiskers, marks)
	p.NominalY(labels...)
	p.Y.Min, p.Y.Max = -0.5, float64(len(rows))-0.5
	return nil
}

// heading returns the column's name, its unit and its scale.
func heading(t report.Table, column int, values plot.Axis) string {
	label := t.Columns[column].Label()
	if values.Scale != (plot.LinearScale{}) {
		label += " (logarithmic scale)"
	}
	return elide(label, width-2*margin)
}

// ends returns the minimum and maximum of each cell of a column.
func ends(rows []report.Row, column int) (all []float64) {
	for _, r := range rows {
		c := report.Of(r.Cells[column])
		all = append(all, c.Min, c.Max)
	}
	return all
}

// scale sets the range of an axis. The scale is logarithmic if the values span more than a decade and all are
// positive. Otherwise it is linear, and a measured axis includes zero.
func scale(axis *plot.Axis, values []float64, measured bool) {
	axis.Min, axis.Max = slices.Min(values), slices.Max(values)
	switch {
	case axis.Min > 0 && axis.Max > 10*axis.Min:
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	case measured:
		axis.Min, axis.Max = min(axis.Min, 0), max(axis.Max, 0)
	}
	if axis.Min == axis.Max {
		axis.Max++
	}
}

// decades returns the marks of a logarithmic axis: at most nine powers of ten, and between them
// marks at 2 and 5 if there are few.
func decades(low, high float64) (marks []plot.Tick) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	for e := first; e <= last; e += math.Ceil((last - first) / 8) {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < low || v > high || m > 1 && last-first > 2 {
				continue
			}
			marks = append(marks, plot.Tick{Value: v, Label: short(v)})
		}
	}
	return marks
}

// places returns the marks of the sizes, with a label where there is room for it.
func places(axis plot.Axis, sizes []float64) (marks plot.ConstantTicks) {
	const room = width - 2*margin - 100 // without the width of the numbers at the other axis
	free := -math.MaxFloat64
	for _, v := range slices.Compact(slices.Sorted(slices.Values(sizes))) {
		label, at := report.Number(v), room*axis.Norm(v)
		if half := letter * float64(len(label)+1) / 2; at-half < free {
			label = ""
		} else {
			free = at + half
		}
		marks = append(marks, plot.Tick{Value: v, Label: label})
	}
	return marks
}

// short returns a number as an axis shows it: 20k for 20,000.
func short(v float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.of*(1-1e-9) {
			return strconv.FormatFloat(v/u.of, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
