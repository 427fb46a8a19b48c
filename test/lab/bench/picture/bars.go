package picture

import (
	"slices"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// bars draws a bar for each row, its name above it and its median at its end; below them
// the next panel begins.
func (p panel) bars(out *page, y float64) float64 {
	const step, thick = 36.0, 11.0
	room := 0.0 // for the number at a bar's end
	for _, r := range p.rows {
		room = max(room, 16+wide(report.Number(p.cell(r).Median), normal))
	}
	top := y + 30
	bottom := top + step*float64(len(p.rows))
	along := fit(p.values(), margin, width-margin-room)
	if along.log {
		along.low = below(along.low / 2) // else the shortest bar could not be seen
	}
	out.text(margin, y+16, normal+1, "start", "heading", elide(p.heading(along), width-2*margin, normal+1))
	free := 0.0
	for _, v := range along.ticks() {
		x, label := along.at(v), short(v)
		out.line(x, top, x, bottom, "grid")
		if x-wide(label, normal)/2 >= free {
			out.text(max(x, margin/2+wide(label, normal)/2), bottom+16, normal, "middle", "soft", label)
			free = max(x, margin/2+wide(label, normal)/2) + wide(label, normal)/2 + 4
		}
	}
	for n, r := range p.rows {
		i := p.colour(r)
		c, at := p.cell(r), top+step*float64(n)
		out.text(margin, at+14, normal, "start", "name", elide(p.label(r), width-2*margin, normal))
		zero := along.from
		if !along.log {
			zero = along.at(0)
		}
		end := along.at(c.Median)
		out.box(min(zero, end), at+20, max(1, max(zero, end)-min(zero, end)), thick, fill(i))
		if c.Min < c.Max {
			out.whisker(along.at(c.Min), along.at(c.Max), at+20+thick/2, false, "over")
			end = max(end, along.at(c.Max))
		}
		out.text(max(end, zero)+7, at+20+thick-1, normal, "start", "soft", report.Number(c.Median))
	}
	out.line(margin, bottom, width-margin-room, bottom, "axis")
	return bottom + 32
}

// colour is the contender's; one for all where there are more of them than colours.
func (p panel) colour(r report.Row) int {
	if light, _ := colours(); len(p.names) > len(light) {
		return 0
	}
	return slices.Index(p.names, r.Name)
}

// label is the row's name, with its size where sizes differ; else the title has it.
func (p panel) label(r report.Row) string {
	if oneSize(p.table) != 0 || r.Size == 0 {
		return r.Name
	}
	return r.Name + ", " + report.Number(float64(r.Size)) + " " + p.table.Over
}

// oneSize is the size of all rows; 0: they differ, or have none.
func oneSize(t report.Table) int {
	for _, r := range t.Rows {
		if r.Size != t.Rows[0].Size {
			return 0
		}
	}
	return t.Rows[0].Size
}
