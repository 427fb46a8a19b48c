package picture

import (
	"slices"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// Of the page, in its own units.
const (
	width  = 760.0
	margin = 16.0
	left   = 72.0 // of a plot: room for the numbers of its scale
	tall   = 210.0
)

// Draw is the table's picture; nothing when no column is drawn or none has numbers.
func Draw(t report.Table) []byte {
	if len(t.Rows) == 0 {
		return nil
	}
	p := &page{}
	y, title := margin+14, t.Title
	if size := oneSize(t); size != 0 {
		title += ", " + report.Number(float64(size)) + " " + t.Over
	}
	for _, line := range wrap(title, width-2*margin, big) {
		p.text(margin, y, big, "start", "title", line)
		y += 20
	}
	names := contenders(t)
	lines := severalSizes(t)
	if lines {
		y = legend(p, y, names)
	}
	drawn := false
	for _, i := range t.Drawn {
		rows := measured(t, i)
		if len(rows) == 0 {
			continue
		}
		drawn = true
		if lines {
			y = panel{t, i, rows, names}.lines(p, y)
		} else {
			y = panel{t, i, rows, names}.bars(p, y)
		}
	}
	if !drawn {
		return nil
	}
	return p.document(title, y)
}

// panel is one column of the table. Its rows have numbers there.
type panel struct {
	table  report.Table
	column int
	rows   []report.Row
	names  []string
}

func (p panel) cell(r report.Row) report.Cell { return report.Of(r.Cells[p.column]) }

// heading is the column's name, its unit and its scale.
func (p panel) heading(s scale) string {
	label := p.table.Columns[p.column].Label()
	if s.log {
		label += " (logarithmic scale)"
	}
	return label
}

// values are all numbers that the panel shows: the ends of its rows.
func (p panel) values() (all []float64) {
	for _, r := range p.rows {
		c := p.cell(r)
		all = append(all, c.Min, c.Max)
	}
	return all
}

// contenders are the names of the rows, in the order in which they come first.
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

func measured(t report.Table, column int) (rows []report.Row) {
	for _, r := range t.Rows {
		if len(r.Cells[column]) > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}
