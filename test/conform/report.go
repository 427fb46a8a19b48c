//go:build linux

package main

import (
	"fmt"
	"strings"
)

// matrix is all cells.
type matrix struct {
	columns []column
	events  []event
	results []result
	whole   bool // nothing was left out
}

func (m *matrix) progress(r result, verbose bool) {
	how := "agent run"
	if r.Bare {
		how = "bare"
	}
	fmt.Printf("%-10s %-20s %-9s %s\n", r.Column, r.Event, how, r.short())
	if verbose || len(r.Faults) > 0 {
		for line := range strings.Lines(tail(r.output)) {
			fmt.Print("    | " + line)
		}
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
	if r.Said != "" {
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

func (m *matrix) report(o options) error {
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
