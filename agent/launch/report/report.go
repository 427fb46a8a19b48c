// Package report has what is left of a run for others to read: the report of --report,
// the last line that the launcher says, and the termination message of its pod.
//
// It promises: lists in the report are never null. A file that no run has written is not
// replaced. A termination message fits into what the kubelet reads.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/rendezvous"
)

// Report is what --report FILE holds: figures for tests and for people who
// watch many jobs.
type Report struct {
	Exit      int     `json:"exit"`
	Why       string  `json:"why,omitempty"`
	Workers   int     `json:"workers"` // that took part, each counted once
	Sessions  int     `json:"sessions"`
	Links     int     `json:"links"`      // that were ever connected
	LinksHeld int     `json:"links_held"` // that were connected when the command ended
	Redials   int     `json:"redials"`    // times that links were made again after they had been there
	Redialled int     `json:"redialled"`  // links that this happened to
	GapsMS    []int64 `json:"gaps_ms"`    // from each loss of a link to its return
	WaitMS    int64   `json:"wait_ms"`    // rendezvous
	Hangs     int     `json:"hangs"`      // that were reported
	Stalls    []Stall `json:"stalls"`     // progress rules that fired, in their order
	// Blames say who the other ranks waited for, where that was seen.
	Blames   []Blame        `json:"blames,omitempty"`
	RunMS    int64          `json:"run_ms"` // the command
	Lost     []verdict.Lost `json:"lost"`
	Attempts []retry.Tried  `json:"attempts"` // in their order
	// Stopped are the ranks that were asked to end, by a signal or after a failure.
	Stopped []StoppedRank `json:"stopped,omitempty"`

	took map[string]bool // names of the workers that took part
}

// Stall is a rule for output lines that fired, as the report has it.
type Stall struct {
	Attempt int    `json:"attempt"`
	Rule    string `json:"rule"`           // "expect 'step (\d+)'"
	Why     string `json:"why"`            // how it was broken
	Rank    string `json:"rank,omitempty"` // that is judged, or printed the line: "rank 3"
	Line    string `json:"line,omitempty"` // the last one that matched
	Stopped bool   `json:"stopped"`        // the attempt was ended for it
}

// Blame is a verdict over ranks by their stacks, as the report has it.
type Blame struct {
	Attempt  int    `json:"attempt"`
	When     string `json:"when"` // "failure", "hang", "exit" or "suspicion" (of a hang)
	Sentence string `json:"sentence"`
}

// StoppedRank is a process that was asked to end, as the report has it.
type StoppedRank struct {
	Attempt int     `json:"attempt"` // from 0
	Rank    string  `json:"rank"`    // "rank 3", "ps 0", or the command in the launcher
	Worker  string  `json:"worker,omitempty"`
	Seconds float64 `json:"seconds"`           // from when it was asked to its end; 0: its worker has asked it
	Killed  bool    `json:"killed"`            // it had not ended when the grace was over
	Unknown bool    `json:"unknown,omitempty"` // how it ended: its worker went without telling
}

// Count takes the figures of a tally.
func (r *Report) Count(f tally.Figures) {
	r.Sessions, r.Lost, r.Links, r.LinksHeld = f.Sessions, f.Lost, f.Links, f.LinksHeld
	r.Redials, r.Redialled, r.GapsMS = f.Redials, f.Redialled, f.GapsMS
}

// TookPart counts workers of an attempt, or those that joined it. A worker that was replaced under its name is
// the same one.
func (r *Report) TookPart(workers []rendezvous.Worker) {
	if r.took == nil {
		r.took = map[string]bool{}
	}
	for _, w := range workers {
		r.took[w.Name] = true
	}
	r.Workers = len(r.took)
}

// Summary is the launcher's last line: how long, on how many workers, with which
// code. Attempts, lost workers and redials follow where there were any; all
// figures when verbose.
func (r Report) Summary(verbose bool) string {
	how := "finished in"
	if r.Exit != 0 {
		how = "ended after"
	}
	line := fmt.Sprintf("%s %s on %s, exit code %d", how, phrase.Seconds(time.Duration(r.RunMS)*time.Millisecond), phrase.Count(r.Workers, "worker"), r.Exit)
	var parts []string
	if n := len(r.Attempts); n > 1 {
		parts = append(parts, phrase.Count(n, "attempt"))
	}
	if verbose {
		parts = append(parts, phrase.Count(r.Sessions, "session"), phrase.Count(r.LinksHeld, "link")+" held")
	}
	if n := len(r.Lost); n > 0 {
		parts = append(parts, phrase.Count(n, "worker")+" lost")
	}
	if r.Redials > 0 || verbose {
		parts = append(parts, r.redials())
	}
	if len(parts) == 0 {
		return line
	}
	return line + "; " + strings.Join(parts, ", ")
}

func (r Report) redials() string {
	if r.Redials == 0 {
		return "0 redials"
	}
	text := phrase.Count(r.Redialled, "link") + " redialled"
	if r.Redials > r.Redialled {
		text += " " + phrase.Count(r.Redials, "time")
	}
	if gap := r.longestGap(); gap > 0 {
		text += ", longest gap " + phrase.Seconds(gap)
	}
	return text
}

func (r Report) longestGap() time.Duration {
	var longest int64
	for _, ms := range r.GapsMS {
		longest = max(longest, ms)
	}
	return time.Duration(longest) * time.Millisecond
}

// Save writes the report as one JSON object.
func (r Report) Save(path string) error {
	if r.GapsMS == nil {
		r.GapsMS = []int64{}
	}
	if r.Stalls == nil {
		r.Stalls = []Stall{}
	}
	if r.Lost == nil {
		r.Lost = []verdict.Lost{}
	}
	if r.Attempts == nil {
		r.Attempts = []retry.Tried{}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := outfile.Write(path, append(text, '\n'), Ours); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Ours reports whether text is a report of an earlier run, of this release
// or another.
func Ours(text []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return false
	}
	for _, name := range []string{"exit", "workers", "links_held", "gaps_ms", "run_ms", "lost"} {
		if fields[name] == nil {
			return false
		}
	}
	return true
}

// maxLastWords keeps below the 4096 bytes that the kubelet reads.
const maxLastWords = 4000

// LastWords writes why, with the code, where the kubelet looks for the
// container's termination message, and after it the epilogue and the failed attempts before.
// A path that does not exist is no pod's.
func LastWords(path string, code int, why, epilogue string, tried []retry.Tried) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if why == "" {
		why = "the command ended"
	}
	before := retry.Earlier(tried)
	text := fmt.Sprintf("%s (exit code %d)%s", retry.Clip(why, maxLastWords-len(before)), code, epilogue)
	text = retry.Clip(text, maxLastWords+40-len(before))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("write termination message: %w", err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, text+before); err != nil {
		return fmt.Errorf("write termination message: %w", err)
	}
	return nil
}

// IsSameFile reports whether two paths lead to one file. One that does not exist is none.
func IsSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
