package jobs

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/agent/failure"
)

// Columns is a table in the layout of kubectl. Cells may contain foreign text, such as a message or
// the last words of a program, so their control characters are made visible.
type Columns struct {
	Head  []string
	Rows  [][]string
	Color func(column int, cell string) string // returns the escape before a cell; nil: no colors
}

// Print writes the table. A table without rows is only its head.
func (c Columns) Print(w io.Writer) error {
	wide := make([]int, len(c.Head))
	rows := make([][]string, len(c.Rows))
	for i, row := range c.Rows {
		for _, cell := range row {
			rows[i] = append(rows[i], oneLine(failure.Visible(cell)))
		}
	}
	for _, row := range append([][]string{c.Head}, rows...) {
		for i, cell := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	c.row(&b, c.Head, wide, false)
	for _, row := range rows {
		c.row(&b, row, wide, c.Color != nil)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Columns) row(b *strings.Builder, row []string, wide []int, colored bool) {
	for i, cell := range row {
		escape := ""
		if colored {
			escape = c.Color(i, cell)
		}
		if escape != "" {
			b.WriteString(escape + cell + "\x1b[0m")
		} else {
			b.WriteString(cell)
		}
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", wide[i]-utf8.RuneCountInString(cell)+3))
		}
	}
	b.WriteByte('\n')
}

// PhaseColor returns the color of the phase of a job or a pod.
func PhaseColor(_ int, cell string) string {
	switch cell {
	case "Succeeded", "Completed":
		return "\x1b[32m"
	case "Failed", "Error", "OOMKilled":
		return "\x1b[31m"
	case "Waiting", "Restarting", "Pending":
		return "\x1b[33m"
	}
	return ""
}
