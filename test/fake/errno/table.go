//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/test/suite/figure"
)

// bad reports whether no run may end so.
func bad(end string) bool { return slices.Contains([]string{panics, alive, left, hang, false0}, end) }

// worse returns the worse of two ends.
func worse(a, b string) string {
	if slices.Index(ends, a) > slices.Index(ends, b) {
		return a
	}
	return b
}

// report prints the table, and writes every run and, unless runs were named, the figures.
func report(results []result, o options) error {
	print(results)
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "errno.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if o.only == "" {
		if err := record(dir, results, o.subset > 0); err != nil {
			return err
		}
	}
	for _, r := range results {
		if bad(r.End) {
			return fmt.Errorf("%s: %s", r.Cell, r.End)
		}
	}
	return nil
}

// figures are the names of counts.
var figures = map[string]string{
	hang:   "hangs",
	false0: "jobs that ended with a false 0",
	left:   "jobs that left processes behind",
	panics: "panics",
	alive:  "PID 1 that accepts nothing and does not end with 70",
}

// record keeps the counts of bad ends as figures.
func record(dir string, results []result, subset bool) error {
	raw, of, command := "errno", "failing system calls: ", "make errno"
	if subset {
		raw, of, command = "errno-subset", "failing system calls, a subset: ", "make fake"
	}
	count := map[string]int{}
	for end := range figures {
		count[end] = 0
	}
	for _, r := range results {
		count[r.End]++
	}
	var rows []figure.Row
	for end, name := range figures {
		rows = append(rows, figure.Row{Name: of + name, Op: "==", Log: end})
	}
	_, err := figure.Keep(dir, command, raw, count, rows...)
	return err
}

// print prints the worst end of each cell, and how many runs ended in each way.
func print(results []result) {
	cells, count := map[[3]string]string{}, map[string]int{}
	for _, r := range results {
		key := [3]string{r.Cell.Role, r.Cell.Call, r.Cell.Errno}
		if cells[key] == "" {
			cells[key] = never
		}
		cells[key] = worse(cells[key], r.End)
		count[r.End]++
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "role\tcall\t"+strings.Join(errnos, "\t"))
	for _, role := range roles {
		for _, call := range calls {
			line, any := role+"\t"+call.name, false
			for _, errno := range errnos {
				end := cells[[3]string{role, call.name, errno}]
				any = any || end != ""
				line += "\t" + end
			}
			if any {
				fmt.Fprintln(w, line)
			}
		}
	}
	_ = w.Flush() // a table that cannot be printed is in errno.json
	for _, end := range ends {
		if count[end] > 0 {
			fmt.Printf("%s %d  ", end, count[end])
		}
	}
	fmt.Println()
}
