package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// units are those of go test's lines, in the order of the table's columns.
func units() []string { return []string{"ns/op", "MB/s", "B/op", "allocs/op"} }

// procs is what go test puts behind a benchmark's name: GOMAXPROCS.
var procs = regexp.MustCompile(`-\d+$`)

// parse makes the table out of the text of go test -bench: a row for each benchmark,
// a sample for each of its lines. Times are in microseconds there.
func parse(text string) (report.Table, error) {
	t := report.Table{
		Name: "micro", Title: "The parts by themselves: time of one operation", Order: 80, Command: "make bench-micro", Drawn: []int{0},
		Columns: []report.Column{{Name: "time", Unit: "µs"}, {Name: "throughput", Unit: "MB/s"}, {Name: "allocated", Unit: "bytes"}, {Name: "allocations"}},
	}
	pkg := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "pkg: "):
			pkg = strings.TrimPrefix(words[1], "github.com/musterhq/muster/")
		case strings.HasPrefix(line, "cpu: ") && !slices.Contains(t.Notes, strings.TrimSpace(line)):
			t.Notes = append(t.Notes, strings.TrimSpace(line))
		case strings.HasPrefix(line, "Benchmark") && len(words) > 3:
			if err := sample(&t, pkg, words); err != nil {
				return t, fmt.Errorf("read %q: %w", strings.TrimSpace(line), err)
			}
		}
	}
	if len(t.Rows) == 0 {
		return t, fmt.Errorf("no benchmark in %d bytes of go test's output", len(text))
	}
	return t, nil
}

// sample adds one line: name, iterations, then pairs of a number and its unit.
func sample(t *report.Table, pkg string, words []string) error {
	name := pkg + ": " + procs.ReplaceAllString(strings.TrimPrefix(words[0], "Benchmark"), "")
	at := slices.IndexFunc(t.Rows, func(r report.Row) bool { return r.Name == name })
	if at < 0 {
		at = len(t.Rows)
		t.Rows = append(t.Rows, report.Row{Name: name, Cells: make([][]float64, len(t.Columns))})
	}
	for i := 2; i+1 < len(words); i += 2 {
		v, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return err
		}
		column := slices.Index(units(), words[i+1])
		if column < 0 {
			continue // a benchmark's own metric
		}
		if column == 0 {
			v /= 1000
		}
		t.Rows[at].Cells[column] = append(t.Rows[at].Cells[column], v)
	}
	return nil
}
