package picture

import (
	"fmt"
	"strings"
)

// colours of the contenders, on light and on dark paper: those of Okabe and Ito,
// which people with any kind of colour vision tell apart, darker or lighter.
func colours() (light, dark []string) {
	return []string{"#0072b2", "#c44e00", "#008060", "#b0508c", "#a87400", "#3b7fa8", "#6b6b6b", "#7a5cc0"},
		[]string{"#4fa8e0", "#ff8a3d", "#2cc295", "#e59ac4", "#f0b840", "#8fd0f5", "#a8a8a8", "#b49cf0"}
}

// style is the sheet of every picture.
func style() string {
	light, dark := colours()
	var b strings.Builder
	b.WriteString(".series{fill:none;stroke-width:2}\n.whisker{stroke-width:1.2}\n.title,.heading{font-weight:600}\n")
	b.WriteString(sheet("#ffffff", "#1f2328", "#59636e", "#d8dee4", light))
	b.WriteString("@media (prefers-color-scheme: dark){\n" + sheet("#0d1117", "#e6edf3", "#9198a1", "#30363d", dark) + "}\n")
	return b.String()
}

func sheet(paper, ink, soft, grid string, of []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".paper{fill:%s}\ntext{fill:%s}\n.soft{fill:%s}\n.grid{stroke:%s}\n.axis{stroke:%s}\n.over{stroke:%s}\n", paper, ink, soft, grid, soft, ink)
	for i, c := range of {
		fmt.Fprintf(&b, ".f%d{fill:%s}\n.l%d{stroke:%s}\n", i, c, i, c)
	}
	return b.String()
}

// fill and stroke are the classes of contender i.
func fill(i int) string {
	light, _ := colours()
	return fmt.Sprintf("f%d", i%len(light))
}

func stroke(i int) string {
	light, _ := colours()
	return fmt.Sprintf("l%d", i%len(light))
}
