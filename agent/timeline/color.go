package timeline

import (
	"fmt"
	"strings"
)

// color is how a phase looks in the page and in the picture. A test checks that each color has enough
// contrast, and that readers who do not see all colors can tell any two of one fill apart.
type color struct {
	phase       Phase
	light, dark string // on a light and on a dark ground
	fill        fill
}

// fill says what covers the area of a phase.
type fill int

const (
	solid fill = iota
	stripes
	checks
	dots
)

// The ground on which bars are drawn.
const groundLight, groundDark = "#ffffff", "#14171c"

// colors returns the color of every phase.
func colors() []color {
	return []color{
		{Queued, "#bc8704", "#f7d53b", solid},
		{Pulling, "#a02c06", "#f07a1c", solid},
		{Starting, "#0f94ea", "#55b8f8", solid},
		{Linking, "#ee2a68", "#fb8f9f", solid},
		{Waiting, "#8e909e", "#75707f", solid},
		{Checking, "#7a28d0", "#8a6ff5", solid},
		{Running, "#0a7a50", "#3f8f5f", solid},
		{Restarting, "#420509", "#cf2417", solid},
		{Spare, "#0a7a50", "#3f8f5f", stripes},
		{Lost, "#b3261e", "#ff8a80", checks},
		{Ending, "#3d3a4c", "#d3d6e6", solid},
		{Unknown, "#8e909e", "#75707f", dots},
	}
}

// palette returns the CSS variables of the phases, as "--running: #0a7a50;".
func palette(dark bool) string {
	var b strings.Builder
	for _, c := range colors() {
		value := c.light
		if dark {
			value = c.dark
		}
		fmt.Fprintf(&b, "--%s:%s;", c.phase, value)
	}
	return b.String()
}

// rules returns CSS: the phases as variables and as classes of swatches, on light and dark grounds.
func rules() string {
	var b strings.Builder
	fmt.Fprintf(&b, ":root{--ground:%s;%s}\n@media (prefers-color-scheme:dark){:root{--ground:%s;%s}}\n", groundLight, palette(false), groundDark, palette(true))
	for _, c := range colors() {
		fmt.Fprintf(&b, ".swatch.%s{%s}\n", c.phase, c.swatch())
	}
	return b.String()
}

// swatch returns the CSS of a small box that looks as the phase does.
func (c color) swatch() string {
	ink := fmt.Sprintf("var(--%s)", c.phase)
	switch c.fill {
	case stripes:
		return fmt.Sprintf("background:repeating-linear-gradient(135deg,%[1]s 0 1.5px,var(--ground) 1.5px 4px)", ink)
	case checks:
		return fmt.Sprintf("background:repeating-linear-gradient(135deg,%[1]s 0 1px,transparent 1px 4px),repeating-linear-gradient(45deg,%[1]s 0 1px,var(--ground) 1px 4px)", ink)
	case dots:
		return fmt.Sprintf("background:radial-gradient(%[1]s 1px,var(--ground) 1.3px) 0 0/4px 4px", ink)
	}
	return "background:" + ink
}
