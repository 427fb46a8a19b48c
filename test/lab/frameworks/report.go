//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/test/suite/figure"
)

// result is a row of the table.
type result struct {
	Key       string  `json:"key"`
	Framework string  `json:"framework"`
	Way       string  `json:"way"`
	Where     string  `json:"where"`  // fake or cluster
	Result    string  `json:"result"` // pass, fail, or "not here"
	Seen      string  `json:"seen,omitempty"`
	Why       string  `json:"why,omitempty"` // of what did not pass
	Seconds   float64 `json:"seconds"`
	CI        bool    `json:"ci"`
	Packages  string  `json:"packages,omitempty"`
}

const (
	passed  = "pass"
	failed  = "fail"
	notHere = "not here"
)

func table(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "framework\tway of launch\twhere\tresult\tseconds\twhat was seen")
	for _, r := range results {
		seen := r.Seen
		if r.Why != "" {
			seen = strings.Join(strings.Fields(strings.TrimPrefix(seen+"; "+r.Why, "; ")), " ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t%s\n", r.Framework, r.Way, r.Where, r.Result, r.Seconds, seen)
	}
	return t.Flush()
}

// saved reads the results of earlier runs.
func saved(paths []string) (results []result, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var part []result
		if err := json.Unmarshal(text, &part); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		results = append(results, part...)
	}
	return results, nil
}

// save writes frameworks.json, and a figure for what failed: its bar is 0.
func save(results []result) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "frameworks.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	counts := map[string]map[string]int{}
	for _, r := range results {
		if counts[r.Where] == nil {
			counts[r.Where] = map[string]int{}
		}
		counts[r.Where][r.Result]++
	}
	for where, count := range counts {
		if _, err := figure.Keep(dir, "make frameworks", "frameworks-"+where, map[string]any{"failed": count[failed], "passed": count[passed]},
			figure.Row{Name: "frameworks, " + where + ": rows that failed", Log: "failed", Op: "==", Bar: 0},
			figure.Row{Name: "frameworks, " + where + ": rows that passed", Log: "passed", Op: ">=", Bar: 1}); err != nil {
			return err
		}
	}
	return nil
}
