package picture

import (
	"slices"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// legend tells the contenders' marks, and is where the panels begin.
func legend(p *page, y float64, names []string) float64 {
	x := margin
	for i, name := range names {
		name = elide(name, width-2*margin-24, normal)
		w := 18 + wide(name, normal) + 14
		if x > margin && x+w > width-margin {
			x, y = margin, y+20
		}
		p.mark(x+6, y, i)
		p.text(x+18, y+4, normal, "start", "name", name)
		x += w
	}
	return y + 20
}

// lines draws a line for each contender over the sizes; below it the next panel begins.
func (p panel) lines(out *page, y float64) float64 {
	const right = width - margin - 24
	top, bottom := y+34, y+34+tall
	up := fit(p.values(), bottom, top)
	out.text(margin, y+16, normal+1, "start", "heading", elide(p.heading(up), width-2*margin, normal+1))
	for _, v := range up.ticks() {
		out.line(left, up.at(v), right, up.at(v), "grid")
		out.text(left-8, up.at(v)+4, normal, "end", "soft", short(v))
	}
	along := p.sizes(out, bottom, right)
	out.line(left, bottom, right, bottom, "axis")
	for i, name := range p.names {
		p.contender(out, i, name, along, up)
	}
	return bottom + 48
}

// sizes writes the sizes below the plot, as far as there is room, and returns their scale.
func (p panel) sizes(out *page, bottom, right float64) scale {
	var all []float64
	for _, r := range p.rows {
		all = append(all, float64(r.Size))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	along := scale{low: all[0], high: all[len(all)-1], from: left + 30, to: right - 30}
	along.log = along.low > 0 && along.high > 10*along.low
	if along.low == along.high {
		along.low, along.high = along.low-1, along.high+1
	}
	free := 0.0
	for _, v := range all {
		label, x := report.Number(v), along.at(v)
		out.line(x, bottom, x, bottom+4, "axis")
		if x-wide(label, normal)/2 < free {
			continue
		}
		out.text(x, bottom+18, normal, "middle", "soft", label)
		free = x + wide(label, normal)/2 + 4
	}
	over := p.table.Over
	if along.log {
		over += " (logarithmic scale)"
	}
	out.text((left+right)/2, bottom+34, normal, "middle", "soft", over)
	return along
}

// contender draws one line, its whiskers and its marks, a little beside those of the others.
func (p panel) contender(out *page, i int, name string, along, up scale) {
	var points [][2]float64
	aside := 5 * (float64(i) - float64(len(p.names)-1)/2)
	for _, r := range p.rows {
		if r.Name != name {
			continue
		}
		c := p.cell(r)
		x := along.at(float64(r.Size)) + aside
		points = append(points, [2]float64{x, up.at(c.Median)})
		if c.Min < c.Max {
			out.whisker(up.at(c.Min), up.at(c.Max), x, true, "whisker "+stroke(i))
		}
	}
	slices.SortFunc(points, func(a, b [2]float64) int {
		if a[0] < b[0] {
			return -1
		}
		return 1
	})
	if len(points) > 1 {
		out.path(points, "series "+stroke(i))
	}
	for _, q := range points {
		out.mark(q[0], q[1], i)
	}
}
