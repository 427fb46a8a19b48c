package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
)

//go:embed compared.md
var properties string

// comparison is a table with lines in the README.
type comparison struct {
	table string
	drawn bool              // only the columns of the picture
	least bool              // at the smallest size, not the largest
	names map[string]string // of columns whose own need the table's title
}

func comparisons() []comparison {
	return []comparison{
		{table: "launch", names: map[string]string{
			"last rank's first line": "mpirun's start to the last rank's first line",
			"with dialling":          "launcher's CPU, dialling included",
			"held":                   "launcher's memory held",
		}},
		{table: "ready", names: map[string]string{"last rank's first line": "the last worker's Ready to the last rank's first line"}},
		{table: "hold", drawn: true},
		{table: "apply", drawn: true},
		{table: "throughput", drawn: true, least: true, names: map[string]string{
			"throughput":        "throughput of a session's output through the whole path",
			"CPU time, machine": "CPU time of the whole machine for that",
		}},
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
				b.WriteString(figureLine(t, column, c.names, size))
			}
		}
	}
	return properties + b.String(), b.Len() > 0
}

// figureLine is one line of figures; empty when Muster or both others have none.
func figureLine(t report.Table, column int, names map[string]string, size int) string {
	c := t.Columns[column]
	if name, ok := names[c.Name]; ok {
		c.Name = name
	}
	what := c.Label()
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
// the table's order. What stands behind a comma in a name is not looked at. A row tells
// in what its name differs from the first one's plain name.
func figureCell(t report.Table, column, size int, words []string) string {
	var cells []string
	plain := ""
	for _, r := range t.Rows {
		name, _, _ := strings.Cut(r.Name, ",")
		in := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(name), w) })
		if !in || r.Size != size || len(r.Cells[column]) == 0 {
			continue
		}
		if plain == "" {
			plain = name
		}
		cell := report.Of(r.Cells[column]).String()
		if differs := strings.Trim(strings.TrimPrefix(r.Name, plain), ", "); differs != "" {
			cell = differs + ": " + cell
		}
		cells = append(cells, cell)
	}
	return strings.ReplaceAll(strings.Join(cells, "; "), "|", `\|`)
}
