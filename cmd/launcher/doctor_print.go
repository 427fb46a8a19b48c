package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/failure"
)

// findingsPrinter prints findings for people: a line for each, the worst first, and a last line with their
// numbers.
type findingsPrinter struct {
	colored, verbose bool
}

// heads are how verdicts are printed, and their colors on a terminal.
var heads = map[check.Verdict]struct{ word, color string }{
	check.Fail:    {"FAIL", "\x1b[31m"},
	check.Warn:    {"WARN", "\x1b[33m"},
	check.Unknown: {"UNKNOWN", "\x1b[36m"},
	check.OK:      {"OK", "\x1b[32m"},
}

// print prints sorted findings. Without verbose, findings that are ok are only counted.
func (r findingsPrinter) print(w io.Writer, found []check.Finding) error {
	var b strings.Builder
	number, shown := map[check.Verdict]int{}, found[:0:0]
	for _, f := range found {
		number[f.Verdict]++
		if f.Verdict != check.OK || r.verbose {
			shown = append(shown, f)
		}
	}
	verdict, name, of := 0, 0, 0
	for _, f := range shown {
		verdict, name, of = max(verdict, len(heads[f.Verdict].word)), max(name, len(f.Check)), max(of, utf8.RuneCountInString(place(f)))
	}
	for i, f := range shown {
		head := fmt.Sprintf("%-*s", verdict, heads[f.Verdict].word)
		if r.colored {
			head = heads[f.Verdict].color + head + "\x1b[0m"
		}
		fmt.Fprintf(&b, "%s  %-*s", head, name, f.Check)
		if of > 0 {
			fmt.Fprintf(&b, "  %-*s", of, place(f))
		}
		fmt.Fprintf(&b, "  %s\n", failure.Visible(strings.Join(strings.Fields(f.Found), " ")))
		last := i == len(shown)-1 || shown[i+1].Remedy != f.Remedy
		if f.Remedy != "" && last { // many workers may need the same
			// What follows the first line is a command to paste, which must not be indented.
			fmt.Fprintf(&b, "      hint: %s\n", failure.Visible(f.Remedy))
		}
	}
	b.WriteString(counted(len(found), number) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// place says what was checked: a worker and its node, an image.
func place(f check.Finding) string {
	of := f.Of
	if f.Node != "" {
		of += " (" + f.Node + ")"
	}
	return failure.Visible(of)
}

// counted returns the last line: 12 checks: 1 failed, 2 warnings, 9 ok.
func counted(all int, number map[check.Verdict]int) string {
	var parts []string
	for _, p := range []struct {
		verdict   check.Verdict
		one, many string
	}{{check.Fail, "failed", "failed"}, {check.Warn, "warning", "warnings"}, {check.Unknown, "unknown", "unknown"}, {check.OK, "ok", "ok"}} {
		switch n := number[p.verdict]; {
		case n == 1:
			parts = append(parts, "1 "+p.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, p.many))
		}
	}
	checks := "checks"
	if all == 1 {
		checks = "check"
	}
	return fmt.Sprintf("%d %s: %s", all, checks, strings.Join(parts, ", "))
}

// printFindings prints findings as a list in JSON.
func printFindings(w io.Writer, found []check.Finding) error {
	if found == nil {
		found = []check.Finding{}
	}
	text, err := json.MarshalIndent(found, "", "    ")
	if err != nil {
		return fmt.Errorf("encode findings: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
