package report

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// Text is the table for a terminal: median and ends of each cell, notes below.
func (t Table) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", t.Name, t.Title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range t.lines() {
		fmt.Fprintln(w, "  "+strings.Join(line, "\t"))
	}
	_ = w.Flush() // it writes to memory
	for _, n := range t.Notes {
		b.WriteString("  " + n + "\n")
	}
	return b.String()
}

// Markdown is the same as a table of a page, without title and notes.
func (t Table) Markdown() string {
	var b strings.Builder
	for i, line := range t.lines() {
		for j := range line {
			line[j] = strings.ReplaceAll(line[j], "|", `\|`)
		}
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(line)-1) + "|\n")
		}
	}
	return b.String()
}

// lines are the head and the rows. A column of sizes is there when a row has one.
func (t Table) lines() [][]string {
	sized := false
	for _, r := range t.Rows {
		sized = sized || r.Size != 0
	}
	head := []string{""}
	if sized {
		head = append(head, t.Over)
	}
	for _, c := range t.Columns {
		head = append(head, c.Label())
	}
	all := [][]string{head}
	for _, r := range t.Rows {
		line := []string{r.Name}
		switch {
		case sized && r.Size == 0:
			line = append(line, "")
		case sized:
			line = append(line, Number(float64(r.Size)))
		}
		for _, samples := range r.Cells {
			line = append(line, Of(samples).String())
		}
		all = append(all, line)
	}
	return all
}

// Label is the column's name with its unit, unless the name says it.
func (c Column) Label() string {
	words := strings.FieldsFunc(c.Name, func(r rune) bool { return r == ' ' || r == ',' })
	if c.Unit == "" || slices.Contains(words, c.Unit) {
		return c.Name
	}
	return c.Name + ", " + c.Unit
}
