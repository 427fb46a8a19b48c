package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// Sizes of text.
const (
	big    = 15.0
	normal = 12.0
)

// page is the inside of the document.
type page struct{ body bytes.Buffer }

// text writes s with its anchor at x and its base line at y.
func (p *page) text(x, y, size float64, anchor, class, s string) {
	fmt.Fprintf(&p.body, "<text x=%q y=%q font-size=%q text-anchor=%q class=%q>", num(x), num(y), num(size), anchor, class)
	escape(&p.body, s)
	p.body.WriteString("</text>\n")
}

func (p *page) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&p.body, "<line x1=%q y1=%q x2=%q y2=%q class=%q/>\n", num(x1), num(y1), num(x2), num(y2), class)
}

func (p *page) box(x, y, w, h float64, class string) {
	fmt.Fprintf(&p.body, "<rect x=%q y=%q width=%q height=%q class=%q/>\n", num(x), num(y), num(w), num(h), class)
}

// path joins points.
func (p *page) path(points [][2]float64, class string) {
	var at []string
	for _, q := range points {
		at = append(at, num(q[0])+","+num(q[1]))
	}
	fmt.Fprintf(&p.body, "<polyline points=%q class=%q/>\n", strings.Join(at, " "), class)
}

// mark is the sign of contender i.
func (p *page) mark(x, y float64, i int) {
	const r = 4.5
	shape := [][2]float64{{-r, -r}, {r, -r}, {r, r}, {-r, r}}
	switch i % 4 {
	case 0:
		fmt.Fprintf(&p.body, "<circle cx=%q cy=%q r=%q class=%q/>\n", num(x), num(y), num(r), fill(i))
		return
	case 2:
		shape = [][2]float64{{0, -1.3 * r}, {1.3 * r, 0}, {0, 1.3 * r}, {-1.3 * r, 0}}
	case 3:
		shape = [][2]float64{{0, -1.2 * r}, {1.2 * r, r}, {-1.2 * r, r}}
	}
	var at []string
	for _, q := range shape {
		at = append(at, num(x+q[0])+","+num(y+q[1]))
	}
	fmt.Fprintf(&p.body, "<polygon points=%q class=%q/>\n", strings.Join(at, " "), fill(i))
}

// whisker goes from low to high, upright or not.
func (p *page) whisker(low, high, across float64, upright bool, class string) {
	const cap = 3.5
	if upright {
		p.line(across, low, across, high, class)
		p.line(across-cap, low, across+cap, low, class)
		p.line(across-cap, high, across+cap, high, class)
		return
	}
	p.line(low, across, high, across, class)
	p.line(low, across-cap, low, across+cap, class)
	p.line(high, across-cap, high, across+cap, class)
}

// document is the page, down to bottom.
func (p *page) document(title string, bottom float64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=%q font-family=\"system-ui, sans-serif\" role=\"img\">\n<title>",
		num(width), num(bottom), num(width))
	escape(&b, title)
	b.WriteString("</title>\n<style>\n" + style() + "</style>\n")
	fmt.Fprintf(&b, "<rect width=%q height=%q class=\"paper\"/>\n", num(width), num(bottom))
	b.Write(p.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func escape(b *bytes.Buffer, s string) { _ = xml.EscapeText(b, []byte(s)) } // it writes to memory

// num is a place, to a tenth.
func num(v float64) string {
	s := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

// wide is a guess at the width of s, on the wide side.
func wide(s string, size float64) float64 { return 0.6 * size * float64(len([]rune(s))) }

// elide shortens s to a width.
func elide(s string, most, size float64) string {
	if wide(s, size) <= most {
		return s
	}
	return string([]rune(s)[:max(1, int(most/(0.6*size))-1)]) + "…"
}

// wrap breaks s at blanks into lines of a width.
func wrap(s string, most, size float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && wide(line+" "+word, size) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, elide(line, most, size))
	}
	return lines
}
