// Package hangs counts the hangs that launchers reported in the runs of our suites. Nothing hangs there, so each
// report is false.
//
// A suite records every run in which the launcher has its default limits for a hang. The notes are lines of
// $MUSTER_OUT/hangs/SUITE.jsonl, to which several processes may append, and Count reads them. The suites' runs are
// short. The default of --hang-after is for runs of half an hour, but a rank that ends with 0 while others are
// running is reported after a minute.
//
// The package does not judge whether a run hangs, and it removes no notes.
package hangs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// run is the note of one run.
type run struct {
	Name    string   `json:"name"`
	Seconds float64  `json:"seconds"`
	Said    []string `json:"said,omitempty"` // the reports
}

// reports returns the messages with which a launcher reports that a run has no activity.
func reports() []string { return []string{" seems to hang: ", ", and no activity for "} }

// Asked reports whether words, a command line or an environment, set the launcher's limits for a hang. If so, its
// reports are expected.
func Asked(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		for _, prefix := range []string{"--hang-after", "--exit-within", "MUSTER_HANG_AFTER=", "MUSTER_EXIT_WITHIN="} {
			if strings.HasPrefix(word, prefix) {
				return true
			}
		}
		return false
	})
}

// Note records a run below dir: its name, how long it took, and the launcher's output.
func Note(dir, suite, name string, took time.Duration, printed string) error {
	one := run{Name: name, Seconds: took.Seconds()}
	for line := range strings.Lines(printed) {
		if slices.ContainsFunc(reports(), func(words string) bool { return strings.Contains(line, words) }) {
			one.Said = append(one.Said, strings.TrimSpace(line))
		}
	}
	text, err := json.Marshal(one)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "hangs"), 0o755)
	}
	if err != nil {
		return fmt.Errorf("note a run: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "hangs", suite+".jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("note a run: %w", err)
	}
	_, err = f.Write(append(text, '\n')) // one write, because others append too
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note a run: %w", err)
	}
	return nil
}

// Total is the sum of the notes of a suite.
type Total struct {
	Suite   string
	Runs    int
	Longest time.Duration
	Said    []string // the reports, each with the name of its run
}

// Count adds up the notes below dir, with a total for each suite.
func Count(dir string) (all []Total, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "hangs", "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("count hang reports: %w", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("count hang reports: %w", err)
		}
		total := Total{Suite: strings.TrimSuffix(filepath.Base(path), ".jsonl")}
		for d := json.NewDecoder(bytes.NewReader(text)); ; {
			var one run
			if err := d.Decode(&one); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("count hang reports: %s: %w", path, err)
			}
			total.Runs++
			total.Longest = max(total.Longest, time.Duration(one.Seconds*float64(time.Second)))
			for _, said := range one.Said {
				total.Said = append(total.Said, one.Name+": "+said)
			}
		}
		all = append(all, total)
	}
	return all, nil
}
