package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/bench/report"
)

//go:embed compared.md
var properties string

// comparison is a table with lines in the README.
type comparison struct {
	table, before string // before a column's name
	drawn         bool   // only the columns of the picture
	least         bool   // at the smallest size, not the largest
}

func comparisons() []comparison {
	return []comparison{
		{table: "launch", before: "from mpirun's start: "},
		{table: "ready", before: "from the last worker's Ready: "},
		{table: "hold", drawn: true},
		{table: "apply", drawn: true},
		{table: "throughput", drawn: true, least: true},
	}
}

// compared is the README's table: the properties, and a line for each column of the
// tables that compare, at one size. Without such a table: false.
func compared(all []report.Table) (string, bool) {
	var b strings.Builder
	for _, c := range comparisons() {
		i := slices.IndexFunc(all, func(t report.Table) bool { return t.Name == c.table })
		if i < 0 || len(all[i].Rows) == 0 {
			continue
		}
		t := all[i]
		size := t.Rows[0].Size
		for _, r := range t.Rows {
			if c.least == (r.Size < size) {
				size = r.Size
			}
		}
		for column := range t.Columns {
			if !c.drawn || slices.Contains(t.Drawn, column) {
				b.WriteString(figureLine(t, column, c.before, size))
			}
		}
	}
	return properties + b.String(), b.Len() > 0
}

// figureLine is one line of figures; empty when Muster or both others have none.
func figureLine(t report.Table, column int, before string, size int) string {
	what := before + t.Columns[column].Label()
	if size > 0 {
		over := t.Over
		if size == 1 {
			over = strings.TrimSuffix(over, "s")
		}
		what = fmt.Sprintf("%s, %d %s", what, size, over)
	}
	line, found := "| "+what, []string{}
	for _, words := range [][]string{{"kubexec", "kubectl"}, {"ssh", "mpi-operator"}, {"muster", "launchjob"}} {
		cell := figureCell(t, column, size, words)
		found = append(found, cell)
		if cell == "" {
			cell = "-"
		}
		line += " | " + cell
	}
	if found[2] == "" || found[0] == "" && found[1] == "" {
		return ""
	}
	return line + " |\n"
}

// figureCell are the figures of the rows that have one of these words in their name, in
// the table's order. What stands behind a comma in a name says in what a row differs.
func figureCell(t report.Table, column, size int, words []string) string {
	var cells []string
	for _, r := range t.Rows {
		in := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(r.Name), w) })
		if !in || r.Size != size || len(r.Cells[column]) == 0 {
			continue
		}
		cell := report.Of(r.Cells[column]).String()
		if _, differs, ok := strings.Cut(r.Name, ", "); ok {
			cell = differs + ": " + cell
		}
		cells = append(cells, cell)
	}
	return strings.ReplaceAll(strings.Join(cells, "; "), "|", `\|`)
}
