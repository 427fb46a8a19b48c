//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/musterhq/muster/test/suite/figure"
)

// matrix is all cells.
type matrix struct {
	columns []column
	events  []event
	results []result
	whole   bool // nothing was left out

	saying sync.Mutex
}

// progress says how a cell ended, and shows the output of one at fault.
func (m *matrix) progress(r result, verbose bool) {
	how := "agent run"
	if r.Bare {
		how = "bare"
	}
	m.saying.Lock()
	defer m.saying.Unlock()
	fmt.Printf("%-10s %-20s %-9s %s\n", r.Column, r.Event, how, r.short())
	if verbose || len(r.Faults) > 0 {
		for line := range strings.Lines(tail(r.output)) {
			fmt.Print("    | " + line)
		}
		fmt.Println()
	}
}

func (r result) short() string {
	switch {
	case r.Cannot != "":
		return "-"
	case len(r.Faults) > 0:
		return "FAULT: " + strings.Join(r.Faults, "; ") + " (" + r.Said + ")"
	case r.Hang:
		return "hangs"
	}
	text := fmt.Sprintf("%d, %.1f s", r.Code, r.Seconds)
	if len(r.Left) > 0 {
		text += fmt.Sprintf(", leaves %d", len(r.Left))
	}
	if r.Said != "" && !r.Bare {
		text += "  " + r.Said
	}
	return text
}

func tail(text string) string {
	const most = 3000
	if len(text) > most {
		return "..." + text[len(text)-most:]
	}
	return text
}

// falseSuccess: 0 although the job was not done.
func (m *matrix) falseSuccess(r result) bool {
	return r.Cannot == "" && !r.Hang && r.Ended && r.Code == 0 && !m.event(r).code(0)
}

// event is the row of a cell.
func (m *matrix) event(r result) event {
	for _, e := range m.events {
		if e.key == r.Event {
			return e
		}
	}
	return event{}
}

// report prints the matrix, writes the page and the figures of a whole one, and
// fails when a cell is at fault.
func (m *matrix) report(o options) error {
	page := m.page()
	fmt.Println()
	fmt.Println(page)
	if m.whole {
		if err := m.figures(); err != nil {
			return err
		}
	}
	if o.doc != "" {
		if err := os.WriteFile(o.doc, []byte(page), 0o644); err != nil {
			return err
		}
	}
	faults := 0
	for _, r := range m.results {
		if len(r.Faults) > 0 {
			faults++
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d cells at fault", faults)
	}
	return nil
}

// figures records the rows of the suite from the raw cells.
func (m *matrix) figures() error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, r := range m.results {
		switch {
		case r.Bare && r.Hang:
			counts["bareHangs"]++
		case r.Bare && m.falseSuccess(r):
			counts["bareFalseSuccesses"]++
		case r.Bare || r.Cannot != "":
		default:
			counts["cells"]++
			counts["hangs"] += one(r.Hang)
			counts["falseSuccesses"] += one(m.falseSuccess(r))
			counts["faults"] += one(len(r.Faults) > 0)
			counts["left"] += len(r.Left)
		}
	}
	raw := map[string]any{"results": m.results}
	for _, key := range []string{"cells", "hangs", "falseSuccesses", "faults", "left", "bareHangs", "bareFalseSuccesses"} {
		raw[key] = counts[key]
	}
	kept, err := figure.Keep(dir, "make conform", "conform", raw,
		figure.Row{Name: "hangs in the conformance matrix", Log: "hangs", Op: "=="},
		figure.Row{Name: "conformance cells that ended with a false success", Log: "falseSuccesses", Op: "=="},
		figure.Row{Name: "conformance cells with a fault of any kind", Log: "faults", Op: "=="},
		figure.Row{Name: "processes left in workers after a conformance cell", Log: "left", Op: "=="},
		figure.Row{Name: "conformance cells under agent run", Log: "cells"},
		figure.Row{Name: "hangs of mpirun by itself in the same cells", Log: "bareHangs"},
		figure.Row{Name: "false successes of mpirun by itself in the same cells", Log: "bareFalseSuccesses"})
	for _, row := range kept {
		fmt.Println(row)
	}
	return err
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
