// Package nightly plays suites one after the other. It does not repeat a suite that passed on the same commit, so a
// night that was interrupted continues where it stopped.
package nightly

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Night is one run over all suites.
type Night struct {
	Dir    string // of logs, results and summary.md
	Commit string // the commit that is tested
	Suites []string
	Out    io.Writer
	// Play plays a suite, writes its output to log, and returns its error.
	Play func(suite string, log io.Writer) error
}

// result is the result of a suite, stored as JSON.
type result struct {
	Suite, Commit string
	Passed        bool
	Seconds       float64
	Ended         time.Time
}

// Run plays the suites that have not passed on the commit, and writes summary.md after each suite. The error names
// the suites that failed.
func (n Night) Run() error {
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of logs: %w", err)
	}
	var all []result
	var failed []string
	for _, suite := range n.Suites {
		r, err := n.play(suite)
		if err != nil {
			return err
		}
		if all = append(all, r); !r.Passed {
			failed = append(failed, suite)
		}
		if err := os.WriteFile(filepath.Join(n.Dir, "summary.md"), n.summary(all), 0o644); err != nil {
			return fmt.Errorf("write the summary: %w", err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

func (n Night) play(suite string) (result, error) {
	kept := filepath.Join(n.Dir, suite+".json")
	var r result
	if text, err := os.ReadFile(kept); err == nil && json.Unmarshal(text, &r) == nil && r.Passed && r.Commit == n.Commit {
		fmt.Fprintf(n.Out, "%-16s passed before, in %.0f s\n", suite, r.Seconds)
		return r, nil
	}
	log, err := os.Create(filepath.Join(n.Dir, suite+".log"))
	if err != nil {
		return r, fmt.Errorf("make the log of %s: %w", suite, err)
	}
	began := time.Now()
	perr := n.Play(suite, log)
	r = result{suite, n.Commit, perr == nil, time.Since(began).Seconds(), time.Now().UTC().Truncate(time.Second)}
	text, err := json.Marshal(r)
	if err = errors.Join(err, log.Close()); err == nil {
		err = os.WriteFile(kept, text, 0o644)
	}
	if err != nil {
		return r, fmt.Errorf("keep the result of %s: %w", suite, err)
	}
	word := "passed"
	if perr != nil {
		word = "FAILED (" + perr.Error() + "), see " + log.Name()
	}
	fmt.Fprintf(n.Out, "%-16s %s, %.0f s\n", suite, word, r.Seconds)
	return r, nil
}

func (n Night) summary(all []result) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Suites on %s\n\n| suite | result | seconds | ended (UTC) |\n|---|---|---:|---|\n", n.Commit)
	total := 0.0
	for _, r := range all {
		word := "passed"
		if !r.Passed {
			word = "**failed**"
		}
		total += r.Seconds
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s |\n", r.Suite, word, r.Seconds, r.Ended.Format(time.DateTime))
	}
	fmt.Fprintf(&b, "\n%d of %d suites, %.0f minutes.\n", len(all), len(n.Suites), total/60)
	return []byte(b.String())
}

// Make plays a suite by its make target.
func Make(suite string, log io.Writer) error {
	cmd := exec.Command("make", "--no-print-directory", suite)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make %s: %w", suite, err)
	}
	return nil
}
