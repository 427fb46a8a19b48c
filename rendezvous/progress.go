package rendezvous

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Progress is the state of the wait at one moment.
type Progress struct {
	Ready, Want int
	Elapsed     time.Duration
	Waiting     []Line // workers that are not ready; without a Name: missing workers and the API server
	Notes       []string
	// Sentence is the whole line: 12/16 ready, 41s; w-3 ImagePullBackOff: repo/img:tag not found
	Sentence string

	state string // Sentence without its durations
}

// Line is one worker, or another thing, that the launcher waits for.
type Line struct {
	Name   string
	Reason Reason
}

// shown is how many causes the progress line names.
const shown = 3

// Tick returns the progress at now. The first Tick starts the wait.
func (b *Board) Tick(now time.Time) Progress {
	if b.start.IsZero() {
		b.start = now
	}
	p := Progress{Want: b.want, Elapsed: now.Sub(b.start)}
	if b.api != nil {
		p.Waiting = append(p.Waiting, Line{"", b.api.Reason()})
	}
	for _, w := range b.ranked {
		if b.ready(w) {
			p.Ready++
			continue
		}
		p.Waiting = append(p.Waiting, Line{w.Name, b.settled(w, now)})
	}
	absent := 0
	if r := b.missing(now); !r.OK() {
		p.Waiting = append(p.Waiting, Line{"", r})
		absent = b.want - len(b.ranked)
	}
	if b.seen {
		for _, w := range b.surplus {
			p.Notes = append(p.Notes, b.whyNot(w))
		}
	}
	b.arrivals.see(p.Ready, now)
	causes, timed := b.causes(p.Waiting, absent, now)
	head := fmt.Sprintf("%d/%d ready", p.Ready, p.Want)
	switch {
	case b.Seats != nil:
		head = fmt.Sprintf("%d ready, %d wanted and %s", p.Ready, b.needed(), plural(b.want-b.needed(), "spare", "spares"))
	case b.Least > 0:
		head = fmt.Sprintf("%d ready, %d to %d wanted", p.Ready, b.Least, p.Want)
	}
	p.state = head + "; " + causes
	p.Sentence = head + ", " + short(p.Elapsed)
	if timed != "" {
		p.Sentence += "; " + timed
	}
	return p
}

// whyNot says why a pod that matches the selector is not used.
func (b *Board) whyNot(w Worker) string {
	if w.Labelled && w.Index >= b.want {
		return fmt.Sprintf("%s is not used: its index is %d, and %s wanted", w.Name, w.Index, plural(b.want, "worker is", "workers are"))
	}
	for _, r := range b.ranked {
		if w.Labelled && r.Labelled && r.Index == w.Index {
			return fmt.Sprintf("%s is not used: %s has the same index %d", w.Name, r.Name, w.Index)
		}
	}
	return fmt.Sprintf("%s is not used: %s wanted", w.Name, plural(b.want, "worker is", "workers are"))
}

// group is the workers that wait for the same cause.
type group struct {
	names  []string
	reason Reason
}

// causes lists at most three causes, permanent ones first: plain, and timed with their durations.
func (b *Board) causes(waiting []Line, absent int, now time.Time) (plain, timed string) {
	if b.api != nil {
		r := b.api.Reason()
		return r.Brief, r.Brief + lasting(r.Since, now)
	}
	if !b.seen {
		return "asking the API server", "asking the API server"
	}
	var parts, timedParts []string
	rest := 0
	for i, g := range byCause(waiting) {
		n := len(g.names)
		if g.reason.Code == Missing {
			n = absent
		}
		if i >= shown {
			rest += n
			continue
		}
		text := strings.TrimSpace(g.who() + " " + g.reason.Brief)
		parts = append(parts, text)
		if g.reason.Code == Unschedulable || g.reason.Code == SchedulingGated {
			text += lastingIn(g.reason.Since, now)
		}
		timedParts = append(timedParts, text)
	}
	if rest > 0 {
		tail := fmt.Sprintf("and %d more", rest)
		parts, timedParts = append(parts, tail), append(timedParts, tail)
	}
	return strings.Join(parts, "; "), strings.Join(timedParts, "; ")
}

// byCause groups the workers by their cause, the most urgent first.
func byCause(waiting []Line) []*group {
	var groups []*group
	of := map[string]*group{}
	for _, line := range waiting {
		g := of[line.Reason.Brief]
		if g == nil {
			g = &group{reason: line.Reason}
			of[line.Reason.Brief] = g
			groups = append(groups, g)
		}
		g.names = append(g.names, line.Name)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return urgency(b.reason) - urgency(a.reason) })
	return groups
}

// Causes sums up why one or more pods do not run. It returns the most urgent reason, and a text
// with all of them, worded like the progress line.
func Causes(reasons []Reason) (first Reason, text string) {
	var lines []Line
	for _, r := range reasons {
		lines = append(lines, Line{Name: r.Pod, Reason: r})
	}
	groups := byCause(lines)
	var parts []string
	for _, g := range groups[:min(shown, len(groups))] {
		parts = append(parts, strings.TrimSpace(g.who()+" "+g.reason.Brief))
	}
	if rest := len(groups) - len(parts); rest > 0 {
		parts = append(parts, fmt.Sprintf("and %s more", plural(rest, "reason", "reasons")))
	}
	return groups[0].reason, strings.Join(parts, "; ")
}

// who names the group: up to two by name, else the first and the number of others.
func (g *group) who() string {
	switch n := len(g.names); {
	case g.reason.Code == Missing:
		return ""
	case n <= 2:
		return strings.Join(g.names, ", ")
	default:
		return fmt.Sprintf("%s and %d more", g.names[0], n-1)
	}
}

// urgency orders causes: first permanent ones, then unusual ones, then the others.
func urgency(r Reason) int {
	switch {
	case r.Permanent:
		return 2
	case !r.Ordinary():
		return 1
	}
	return 0
}

func lastingIn(since, now time.Time) string {
	if text := lasting(since, now); text != "" {
		return " (" + strings.TrimPrefix(text, " ") + ")"
	}
	return ""
}
