package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// mostRows is the number of bars, so that all fits a screen.
	mostRows = 10
	// leastBar is the width of a bar with long names, and longestName that of a name, in characters.
	leastBar, longestName = 30, 28
	// leastShare is the part of the time of all workers below which a phase is not listed: 1 of 1,000.
	leastShare = 1000
	// mostCause is the length of a cause in characters.
	mostCause = 100
)

// Text returns the view for a terminal of this width in characters: a bar for each of the slowest
// workers, the phases, and the slowest worker of each.
func (t *Timeline) Text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.summary())
	if len(t.Workers) == 0 {
		return b.String()
	}
	rows, rest := t.rows()
	name := 0
	for _, w := range rows {
		name = max(name, min(utf8.RuneCountInString(w.Name), longestName))
	}
	size := max(leastBar, width-name-1)
	end := seconds(t.Wall())
	fmt.Fprintf(&b, "%*s 0%*s\n", name, "", size-1, end)
	for _, w := range rows {
		fmt.Fprintf(&b, "%-*s %s\n", name, short(w.Name, longestName), t.bar(w, size))
	}
	if rest > 0 {
		fmt.Fprintf(&b, "%*s and %s, which started sooner\n", name, "", count(rest, "more worker"))
	}
	fmt.Fprintf(&b, "\n%s%s", t.legend(), t.firstLine())
	if t.Dropped > 0 {
		fmt.Fprintf(&b, "%s could not be written in time, so this view is not complete\n", count(t.Dropped, "event"))
	}
	return b.String()
}

// summary returns the first line.
func (t *Timeline) summary() string {
	line := count(t.size(), "worker") + ", " + seconds(t.Wall())
	if n := len(t.Attempts); n > 1 {
		line += ", " + count(n, "attempt")
	}
	if !t.Over {
		return line + ", not ended"
	}
	line += fmt.Sprintf(", exit code %d", t.Exit)
	if t.Why != "" {
		line += ": " + short(t.Why, mostCause)
	}
	return line
}

// rows returns the workers that are shown, which ran the least: the slowest first. rest is the number
// of the others.
func (t *Timeline) rows() (rows []*Worker, rest int) {
	idle := map[*Worker]time.Duration{}
	for i := range t.Workers {
		w := &t.Workers[i]
		rows = append(rows, w)
		spent := w.Spent()
		for _, a := range Table() {
			if !a.Shared {
				idle[w] += spent[a.Phase]
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *Worker) int { return cmp.Compare(idle[b], idle[a]) })
	if len(rows) > mostRows {
		rows, rest = rows[:mostRows], len(rows)-mostRows
	}
	return rows, rest
}

// bar returns one character for each part of the wall time.
func (t *Timeline) bar(w *Worker, size int) string {
	line := make([]byte, size)
	for i, p := range t.parts(w, size) {
		line[i] = of(p).Mark
	}
	return string(line)
}

// parts divides the wall time, and returns the phase that takes most of each part.
func (t *Timeline) parts(w *Worker, size int) []Phase {
	all := make([]Phase, size)
	next := 0
	for i := range all {
		from, to := t.at(i, size), t.at(i+1, size)
		best, most := Unknown, time.Duration(-1)
		for j := next; j < len(w.Spans) && w.Spans[j].From.Before(to); j++ {
			s := w.Spans[j]
			if took := earlier(s.To, to).Sub(later(s.From, from)); took > most {
				best, most = s.Phase, took
			}
			if !s.To.After(to) {
				next = j
			}
		}
		all[i] = best
	}
	return all
}

// at returns the time at a place of a bar.
func (t *Timeline) at(place, size int) time.Time {
	return t.From.Add(time.Duration(float64(t.Wall()) * float64(place) / float64(size)))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// share is a phase that takes time of a run.
type share struct {
	About
	percent         float64 // of the time of all workers
	median, longest time.Duration
	slowest         *Slowest // nil: none
}

// shares returns the phases that take at least one part in this many of the time of all workers.
func (t *Timeline) shares(parts int) (all []share) {
	took, sums, sum := map[Phase][]time.Duration{}, map[Phase]time.Duration{}, time.Duration(0)
	for i := range t.Workers {
		for p, d := range t.Workers[i].Spent() {
			took[p] = append(took[p], d)
			sums[p] += d
			sum += d
		}
	}
	for _, a := range Table() {
		if len(took[a.Phase]) == 0 || sums[a.Phase] < sum/time.Duration(parts) {
			continue
		}
		one := share{About: a, percent: 100 * float64(sums[a.Phase]) / float64(max(sum, 1))}
		times := append(took[a.Phase], make([]time.Duration, len(t.Workers)-len(took[a.Phase]))...)
		slices.Sort(times)
		one.median, one.longest = times[len(times)/2], times[len(times)-1]
		if i := slices.IndexFunc(t.Slowest, func(s Slowest) bool { return s.Phase == a.Phase }); i >= 0 {
			one.slowest = &t.Slowest[i]
		}
		all = append(all, one)
	}
	return all
}

// legend returns a line for each phase that takes time: its mark, its share of the time of all
// workers, and its slowest worker.
func (t *Timeline) legend() string {
	var b strings.Builder
	for _, s := range t.shares(leastShare) {
		line := fmt.Sprintf("%c %-10s %5.1f%%", s.Mark, s.Phase, s.percent)
		if s.slowest != nil {
			line += "  " + s.slowest.sentence(len(t.Workers))
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// firstLine returns a line about the first output of the last attempt, or "" if it is unknown.
func (t *Timeline) firstLine() string {
	if len(t.Attempts) == 0 || t.Attempts[len(t.Attempts)-1].First.IsZero() {
		return ""
	}
	a := t.Attempts[len(t.Attempts)-1]
	return fmt.Sprintf("first output %s after the start of attempt %d, by %s\n", seconds(a.First.Sub(a.From)), a.Number, a.FirstOf)
}

// sentence says which worker was the slowest, of how many, and why.
func (s Slowest) sentence(workers int) string {
	if s.Phase == Checking {
		return "found on " + s.Worker + ": " + short(s.Cause, mostCause)
	}
	text := s.Worker
	if s.Node != "" {
		text += " on " + s.Node
	}
	text += " " + seconds(s.Took)
	if workers > 1 {
		text = "slowest: " + text + ", median " + seconds(s.Median)
	}
	if s.Cause != "" {
		text += ": " + short(s.Cause, mostCause)
	}
	return text
}

// seconds returns a duration for people.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short returns text in at most n characters.
func short(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-3]) + "..."
}
