package progress

import (
	"math"
	"slices"
	"time"
)

// Names of groups in an expression that capture the time of a rank's step, as in
// 'compute=(?P<seconds>[0-9.]+)'.
const (
	GroupSeconds      = "seconds"
	GroupMilliseconds = "milliseconds"
)

// mostPaced bounds the memory for ranks if a program prints wrong rank numbers.
const mostPaced = 100_000

// clock measures the steps of each rank by the lines of one rule.
type clock struct {
	rule  int
	every time.Duration
	tell  func(rank int, seconds float64)
	marks map[int]*mark
}

// mark is where a rank was when its last step time was taken.
type mark struct {
	at   time.Time
	best numbers // at that time
	sum  float64 // step times in seconds that were captured since
	n    int     // number of these
}

// Steps passes the step times of each rank to tell, from now on. It returns false if no rule can
// measure steps. The first rule that captures a time decides, else the first that captures a
// number. Then a step time is the time between two numbers of a rank, divided by their difference.
// A rank has at most one step time in every, which is the mean of that time. Lines without a rank do
// not count. Call Steps before the first line. tell must not call the Watch.
func (w *Watch) Steps(every time.Duration, tell func(rank int, seconds float64)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.set.rules, func(c compiled) bool { return c.Expect != "" && c.time > 0 })
	if i < 0 {
		i = slices.IndexFunc(w.set.rules, func(c compiled) bool { return c.Expect != "" && c.counts() > 0 })
	}
	if i < 0 {
		return false
	}
	w.clock = &clock{rule: i, every: every, tell: tell, marks: map[int]*mark{}}
	return true
}

// reset forgets where ranks were, so that no step time contains what was before.
func (c *clock) reset() {
	if c != nil {
		clear(c.marks)
	}
}

// stepped handles a line of a rank that matches the rule.
func (c *clock) stepped(r *compiled, rank int, line []byte, match []int, now time.Time) {
	m := c.marks[rank]
	if m == nil {
		if rank < 0 || len(c.marks) >= mostPaced {
			return
		}
		m = &mark{}
		c.marks[rank] = m
	}
	if r.time > 0 {
		c.captured(m, rank, r.timeIn(line, match), now)
		return
	}
	var scratch [4]float64
	found, any := numbersOf(scratch[:0], line, match, r.apart)
	switch {
	case !any:
	case m.at.IsZero():
		m.at, m.best = now, append(m.best[:0], found...)
	case now.Sub(m.at) >= c.every && found.differs(m.best):
		if n := found.steps(m.best); n > 0 {
			c.tell(rank, now.Sub(m.at).Seconds()/n)
		}
		m.at, m.best = now, append(m.best[:0], found...)
	}
}

// captured handles a step time that a line has.
func (c *clock) captured(m *mark, rank int, seconds float64, now time.Time) {
	if !(seconds > 0) || math.IsInf(seconds, 0) { // also not a number
		return
	}
	m.sum, m.n = m.sum+seconds, m.n+1
	if m.at.IsZero() {
		m.at = now
	} else if now.Sub(m.at) >= c.every {
		c.tell(rank, m.sum/float64(m.n))
		m.at, m.sum, m.n = now, 0, 0
	}
}

// timeIn returns the captured step time in seconds, or NaN.
func (c *compiled) timeIn(line []byte, match []int) float64 {
	return numberIn(line, match, c.time) * c.unit
}

// differs reports whether a number differs.
func (n numbers) differs(old numbers) bool {
	for i := range min(len(n), len(old)) {
		if n[i] != old[i] && !(math.IsNaN(n[i]) && math.IsNaN(old[i])) {
			return true
		}
	}
	return false
}

// steps returns the number of steps since old, or 0 if the numbers do not say that. In a new epoch,
// for example, the number of the epoch has grown, and that of the step has shrunk.
func (n numbers) steps(old numbers) (steps float64) {
	for i := range min(len(n), len(old)) {
		switch {
		case math.IsNaN(n[i]) || math.IsNaN(old[i]) || n[i] == old[i]:
		case steps != 0 || n[i] < old[i]:
			return 0
		default:
			steps = n[i] - old[i]
		}
	}
	return steps
}
