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

// compared is the README's table: the properties, and a line for each column of the
// tables that compare, at their largest size. Without such a table: false.
func compared(all []report.Table) (string, bool) {
	var b strings.Builder
	for _, t := range all {
		if !slices.Contains([]string{"launch", "ready", "hold", "apply", "throughput"}, t.Name) {
			continue
		}
		size := 0
		for _, r := range t.Rows {
			size = max(size, r.Size)
		}
		for i, c := range t.Columns {
			b.WriteString(figureLine(t, i, c, size))
		}
	}
	return properties + b.String(), b.Len() > 0
}

// figureLine is one line of figures; empty when Muster or both others have none.
func figureLine(t report.Table, column int, c report.Column, size int) string {
	what := c.Label()
	if size > 0 {
		what = fmt.Sprintf("%s, %d %s", what, size, t.Over)
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

// figureCell are the figures of the rows that have one of these words in their name, the
// plainest name first; the others say in what they differ from it.
func figureCell(t report.Table, column, size int, words []string) string {
	var rows []report.Row
	for _, r := range t.Rows {
		in := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(r.Name), w) })
		if in && r.Size == size && len(r.Cells[column]) > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b report.Row) int { return len(a.Name) - len(b.Name) })
	var cells []string
	for i, r := range rows {
		cell := report.Of(r.Cells[column]).String()
		if i > 0 {
			cell = strings.Trim(strings.TrimPrefix(r.Name, rows[0].Name), " ,()") + ": " + cell
		}
		cells = append(cells, cell)
	}
	return strings.ReplaceAll(strings.Join(cells, "; "), "|", `\|`)
}
