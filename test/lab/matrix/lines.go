package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// line is a line of the table: what was run on a version of Kubernetes.
type line struct {
	minor   string
	nodes   string // the versions that they report; empty: not known, because no cluster was up
	verdict string
}

func (l line) text() string {
	nodes := l.nodes
	if nodes == "" {
		nodes = "unknown"
	}
	return fmt.Sprintf("| %s | %s | %s |", l.minor, nodes, l.verdict)
}

// table returns the table of a page with a new line, newest version first. It keeps the lines of other versions.
func table(page string, l line) string {
	lines := map[string]string{l.minor: l.text()}
	for old := range strings.Lines(page) {
		cells := strings.Split(old, " | ")
		minor := strings.TrimPrefix(cells[0], "| ")
		if _, err := number(minor); err == nil && len(cells) == 3 && minor != l.minor {
			lines[minor] = strings.TrimSpace(old)
		}
	}
	minors := make([]string, 0, len(lines))
	for minor := range lines {
		minors = append(minors, minor)
	}
	slices.SortFunc(minors, func(a, b string) int {
		one, _ := number(a)
		other, _ := number(b)
		return other - one
	})
	text := "| Kubernetes | versions of the nodes | `make e2e-smoke` |\n|---|---|---|\n"
	for _, minor := range minors {
		text += lines[minor] + "\n"
	}
	return text
}

// number returns the second number of a version such as 1.36.
func number(minor string) (int, error) {
	first, second, _ := strings.Cut(minor, ".")
	if first != "1" {
		return 0, fmt.Errorf("%q is not a version of Kubernetes", minor)
	}
	return strconv.Atoi(second)
}
