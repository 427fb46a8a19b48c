// Package report writes what a run leaves for others to read: the report of --report, the
// launcher's last line, and the termination message of its pod.
//
// The figures about links come from the record of events. The other lists do not, because an event
// has a single text, which is cut. Their entries have more fields, such as the rule and the line of a
// stall, or the step times of a straggler. Entries of stalls, stragglers and spares are made where
// their events are recorded.
//
// Guarantees: lists in the report are never null. A file that was not written by a run is not
// replaced. A termination message fits into what the kubelet reads.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/rendezvous"
)

// Report is the content of the file of --report: figures for tests, and for people who watch many
// jobs.
type Report struct {
	Exit      int     `json:"exit"`
	Why       string  `json:"why,omitempty"`
	Workers   int     `json:"workers"` // workers that took part, each counted once
	Sessions  int     `json:"sessions"`
	Links     int     `json:"links"`      // links that were ever connected
	LinksHeld int     `json:"links_held"` // links that were connected when the command ended
	Redials   int     `json:"redials"`    // redials of links that had been connected
	Redialled int     `json:"redialled"`  // links that were redialed
	GapsMS    []int64 `json:"gaps_ms"`    // time from each loss of a link to its return
	WaitMS    int64   `json:"wait_ms"`    // the wait for the workers
	Hangs     int     `json:"hangs"`      // hangs that were reported
	Stalls    []Stall `json:"stalls"`     // progress rules that fired, in order
	Checks
	Ranks
	RunMS    int64          `json:"run_ms"` // run time of the command
	Lost     []verdict.Lost `json:"lost"`
	Attempts []retry.Tried  `json:"attempts"` // in order
	// Stopped are the ranks that were asked to end, by a signal or after a failure.
	Stopped []StoppedRank `json:"stopped,omitempty"`
	Story

	took map[string]bool // names of the workers that took part
}

// Story is what the record of events says about the whole run.
type Story struct {
	// Goodput is what the workers' time was spent on; nil: unknown.
	Goodput goodput.Account `json:"goodput,omitempty"`
	// Brief has the attempts of the run for the status of its job.
	Brief event.Brief `json:"-"`
}

// Checks are what was found before the ranks started, and what followed from it.
type Checks struct {
	// Preflight are the findings about workers and their network that are not ok, the worst first.
	Preflight   []check.Finding `json:"preflight,omitempty"`
	PreflightMS int64           `json:"preflight_ms"` // the checks before all attempts
	// Spares are the workers that took the places of others, in order.
	Spares []Spare `json:"spares,omitempty"`
}

// Ranks are what was found about ranks while they ran.
type Ranks struct {
	// Blames say which ranks the others waited for, if that was seen.
	Blames []Blame `json:"blames,omitempty"`
	// Stragglers are the ranks whose steps were slower than those of the others, in order.
	Stragglers []Straggler `json:"stragglers,omitempty"`
}

// Checked adds the findings of a preflight that are not ok, and the time that it took.
func (r *Report) Checked(found []check.Finding, took time.Duration) {
	r.PreflightMS += took.Milliseconds()
	for _, f := range found {
		if f.Verdict != check.OK {
			r.Preflight = append(r.Preflight, f)
		}
	}
}

// Spare is a worker that took the place of another one.
type Spare struct {
	Attempt  int    `json:"attempt"`          // from 0: the first with the spare
	Position int    `json:"position"`         // among the workers, from 0; it gives the ranks
	Worker   string `json:"worker,omitempty"` // that was replaced; "" if it never came
	Spare    string `json:"spare"`
	Why      string `json:"why"`      // "is lost"
	AddedMS  int64  `json:"added_ms"` // from the decision until the place was taken
}

// Stall is a rule for output lines that fired.
type Stall struct {
	Attempt int    `json:"attempt"`
	Rule    string `json:"rule"`           // "expect 'step (\d+)'"
	Why     string `json:"why"`            // how it was broken
	Rank    string `json:"rank,omitempty"` // the rank that is judged, or that printed the line: "rank 3"
	Line    string `json:"line,omitempty"` // the last line that matched
	Stopped bool   `json:"stopped"`        // the attempt was stopped because of it
}

// Straggler is a rank whose steps were slower than those of the others.
type Straggler struct {
	Attempt   int     `json:"attempt"`
	Rank      int     `json:"rank"`
	Worker    string  `json:"worker,omitempty"`
	Node      string  `json:"node,omitempty"`
	Step      float64 `json:"step_seconds"`
	Median    float64 `json:"median_step_seconds"` // of all ranks that were compared
	Ranks     int     `json:"ranks"`               // number of these
	Recovered bool    `json:"recovered"`           // later in this attempt
}

// Blame is a verdict about ranks, from their stacks.
type Blame struct {
	Attempt  int    `json:"attempt"`
	When     string `json:"when"` // "failure", "hang", "exit" or "suspicion" (of a hang)
	Sentence string `json:"sentence"`
}

// StoppedRank is a process that was asked to end.
type StoppedRank struct {
	Attempt int     `json:"attempt"` // from 0
	Rank    string  `json:"rank"`    // "rank 3", "ps 0", or the command in the launcher
	Worker  string  `json:"worker,omitempty"`
	Seconds float64 `json:"seconds"`           // from the request to its end; 0: its worker has asked it
	Killed  bool    `json:"killed"`            // it had not ended when the grace was over
	Unknown bool    `json:"unknown,omitempty"` // how it ended is unknown, because its worker left without reporting
}

// Count copies the figures of a tally, and those of the record about links.
func (r *Report) Count(f tally.Figures, l record.Links) {
	r.Sessions, r.Lost, r.LinksHeld = f.Sessions, f.Lost, f.LinksHeld
	r.Links, r.Redials, r.Redialled, r.GapsMS = l.Ever, l.Redials, l.Redialled, l.GapsMS
}

// TookPart counts the workers of an attempt, or workers that joined it. A replacement with the same
// name counts as the same worker.
func (r *Report) TookPart(workers []rendezvous.Worker) {
	if r.took == nil {
		r.took = map[string]bool{}
	}
	for _, w := range workers {
		r.took[w.Name] = true
	}
	r.Workers = len(r.took)
}

// Left removes a worker that was replaced before it took part.
func (r *Report) Left(worker string) {
	delete(r.took, worker)
	r.Workers = len(r.took)
}

// Summary returns the launcher's last line: the time, the number of workers and the exit code.
// Attempts, lost workers and redials follow if there were any. verbose adds all figures.
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
	if share := r.Goodput.Brief(); share != "" {
		parts = append(parts, share)
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
	text := phrase.Count(r.Redialled, "link") + " redialed"
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
	text, err := json.MarshalIndent(r.listed(), "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	return put(path, text)
}

// listed returns r with empty lists instead of null.
func (r Report) listed() Report {
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
	return r
}

func put(path string, text []byte) error {
	if err := outfile.Write(path, append(text, '\n'), Ours); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Ours reports whether text is a report of an earlier run, by this release or another.
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

// maxLastWords, in bytes, stays below the 4096 bytes that the kubelet reads.
const maxLastWords = 4000

// TakesWords reports whether LastWords writes to path. Without such a file this is no pod.
func TakesWords(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// spentRoom is the room in bytes that the line of the goodput and the exit code take.
const spentRoom = 400

// mostBrief is the length in bytes of the line of events in a termination message.
const mostBrief = 600

// LastWords writes the container's termination message to path: why and the exit code, the
// epilogue, the goodput, the events, and the earlier failed attempts. The events are left out if why and the
// epilogue need their room. It does nothing unless TakesWords.
func (r Report) LastWords(path string, code int, why, epilogue string) error {
	if !TakesWords(path) {
		return nil
	}
	if why == "" {
		why = "the command ended"
	}
	before := retry.Earlier(r.Attempts)
	if line := r.Brief.Line(mostBrief); line != "" && len(why)+len(epilogue)+len(line)+len(before)+spentRoom <= maxLastWords {
		before = "\n" + line + before
	}
	if r.Goodput != nil {
		before = "\n" + r.Goodput.Line() + before
	}
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

// IsSameFile reports whether two paths lead to the same existing file.
func IsSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
