package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The measures of the picture in pixels.
const (
	svgWidth  = 960
	svgMargin = 16
	svgNames  = 200 // width of the names
	svgRow    = 22
	svgLine   = 20
	svgBar    = svgWidth - svgNames - 2*svgMargin
	svgTitle  = 120 // characters
	svgName   = 27
	svgCause  = 108
	svgTicks  = 7 // at most
)

// picture writes an SVG from top to bottom.
type picture struct {
	strings.Builder
	y int // of the next line
}

// SVG returns the timeline as a picture for a report: the slowest workers, a count of the others, and
// the phases. name is that of the job or of the file. It follows the reader's choice of light or dark.
func (t *Timeline) SVG(name string) []byte {
	var body picture
	body.y = svgMargin + 14
	body.text("title", svgMargin, short(plain(name), svgTitle))
	body.y += svgLine
	body.text("", svgMargin, short(plain(t.summary()), svgTitle))
	body.y += svgLine
	if len(t.Workers) > 0 {
		body.bars(t)
		body.legend(t)
	}
	height := body.y + svgMargin - svgLine/2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">`+"\n", svgWidth, height, escaped("Timeline of "+name+": "+t.summary()))
	fmt.Fprintf(&b, "<style>%s</style>\n<defs>%s</defs>\n", svgStyle(), svgPatterns())
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d"/>`+"\n%s</svg>\n", svgWidth, height, body.String())
	return []byte(b.String())
}

// svgStyle returns the style of the picture. Programs that know no variables and no media queries show the
// light colors.
func svgStyle() string {
	var light, dark strings.Builder
	light.WriteString("text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1d2129;unicode-bidi:isolate}.title{font-size:16px;font-weight:600}.muted{fill:#565e6c}.end{text-anchor:end}" +
		".axis{stroke:#d5dae1}.ground{fill:" + groundLight + "}")
	dark.WriteString("text{fill:#e4e7ec}.muted{fill:#a6aebb}.axis{stroke:#333a45}.ground{fill:" + groundDark + "}")
	for _, c := range colors() {
		if c.fill == solid {
			fmt.Fprintf(&light, ".%s{fill:%s}", c.phase, c.light)
			fmt.Fprintf(&dark, ".%s{fill:%s}", c.phase, c.dark)
			continue
		}
		fmt.Fprintf(&light, ".%[1]s{fill:url(#%[1]s)}.%[1]s-ink{stroke:%[2]s}", c.phase, c.light)
		fmt.Fprintf(&dark, ".%s-ink{stroke:%s}", c.phase, c.dark)
	}
	return light.String() + "\n@media (prefers-color-scheme:dark){" + dark.String() + "}"
}

// svgPatterns returns the patterns of the phases that have one.
func svgPatterns() string {
	var b strings.Builder
	for _, c := range colors() {
		lines, width := "", 1.0
		switch c.fill {
		case stripes:
			lines = "M-1 5L5 -1M-1 1L1 -1M3 5L5 3"
		case checks:
			lines = "M-1 5L5 -1M-1 1L1 -1M3 5L5 3M-1 -1L5 5M-1 3L1 5M3 -1L5 1"
		case dots:
			lines, width = "M1 2H2.6", 1.6
		default:
			continue
		}
		fmt.Fprintf(&b, `<pattern id="%[1]s" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="ground" width="4" height="4"/><path class="%[1]s-ink" stroke-width="%[3]g" d="%[2]s"/></pattern>`, c.phase, lines, width)
	}
	return b.String()
}

// text writes text of others at a place.
func (p *picture) text(class string, x int, text string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(p, `<text%s x="%d" y="%d">%s</text>`+"\n", class, x, p.y, escaped(text))
}

// box writes a rectangle in the color of a phase.
func (p *picture) box(phase Phase, x, y, width, height int) {
	fmt.Fprintf(p, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`+"\n", phase, x, y, width, height)
}

// bars writes the axis, and a bar for each of the slowest workers.
func (p *picture) bars(t *Timeline) {
	const left = svgMargin + svgNames
	rows, rest := t.rows()
	p.y += 4
	step := t.tick(svgTicks)
	for at := time.Duration(0); at <= t.Wall(); at += step {
		x := left + int(svgBar*float64(at)/float64(max(1, t.Wall())))
		fmt.Fprintf(p, `<path class="axis" d="M%d.5 %dV%d"/>`+"\n", x, p.y-10, p.y+6+svgRow*len(rows))
		if x < left+svgBar-40 {
			p.text("muted", x+4, onAxis(at))
		}
	}
	p.y += 6
	for _, w := range rows {
		p.y += 15
		p.text("", svgMargin, short(plain(w.Name), svgName))
		p.y -= 15
		parts := t.parts(w, svgBar)
		for from := 0; from < len(parts); {
			to := from + 1
			for to < len(parts) && parts[to] == parts[from] {
				to++
			}
			p.box(parts[from], left+from, p.y+3, to-from, svgRow-6)
			from = to
		}
		p.y += svgRow
	}
	if rest > 0 {
		p.y += 12
		p.text("muted", left, "and "+count(rest, "more worker")+", which started sooner")
		p.y += 4
	}
}

// tick returns a round time that divides the wall time into at most this many parts.
func (t *Timeline) tick(parts int) time.Duration {
	const ms, s, m, h, day = time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour
	for _, step := range []time.Duration{ms, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 500 * ms, s, 2 * s, 5 * s, 10 * s, 20 * s, 30 * s,
		m, 2 * m, 5 * m, 10 * m, 15 * m, 30 * m, h, 2 * h, 3 * h, 6 * h, 12 * h} {
		if t.Wall() <= step*time.Duration(parts) {
			return step
		}
	}
	return (t.Wall()/time.Duration(parts)/day + 1) * day
}

// onAxis returns a time of an axis: 0, 0.5 s, 50 s, 10m, 1h30m.
func onAxis(at time.Duration) string {
	switch {
	case at == 0:
		return "0"
	case at%time.Minute != 0:
		return strconv.FormatFloat(at.Seconds(), 'f', -1, 64) + " s"
	case at%time.Hour == 0:
		return fmt.Sprintf("%dh", at/time.Hour)
	}
	return strings.TrimSuffix(at.String(), "0s")
}

// legend writes a line for each phase: its share, and its slowest worker.
func (p *picture) legend(t *Timeline) {
	p.y += svgLine + 4
	for _, s := range t.notable() {
		p.box(s.Phase, svgMargin, p.y-10, 12, 12)
		p.text("", svgMargin+20, string(s.Phase))
		p.text("end", svgMargin+svgNames-50, percentage(s.percent))
		if s.slowest != nil {
			p.text("", svgMargin+svgNames-30, short(plain(s.slowest.sentence(len(t.Workers))), svgCause))
		}
		p.y += svgLine
	}
}
