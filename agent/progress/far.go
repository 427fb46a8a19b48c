package progress

import (
	"math"
	"time"
)

// Far is how far an attempt is, by the numbers of a rule.
type Far struct {
	Step  float64
	Total float64       // by the group named total; 0: unknown
	Left  time.Duration // an estimate, at the average speed since the first step of this attempt; 0: unknown
}

// GroupTotal is the name of the group that captures the last step, as in
// 'step (\d+)/(?P<total>\d+)'.
const GroupTotal = "total"

// totalOf returns the last step that a line names, or 0.
func (c *compiled) totalOf(line []byte, match []int) float64 {
	if n := numberIn(line, match, c.total); c.total > 0 && !math.IsNaN(n) {
		return n
	}
	return 0
}

// Far returns how far the attempt is by the first rule that captures a single number. It returns
// false if there is no such rule, or no number yet. Of several ranks the one that is farthest counts.
func (w *Watch) Far(now time.Time) (Far, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.set.rules {
		if r.Expect != "" && r.counts() == 1 {
			return w.paces[i].far(now), !w.paces[i].began.IsZero()
		}
	}
	return Far{}, false
}

// pace is the progress of a rule in one attempt.
type pace struct {
	first, last     float64
	began, reported time.Time // when they were printed
	total           float64
}

// note takes the numbers of a line that counted.
func (p *pace) note(step, total float64, now time.Time) {
	if p.began.IsZero() {
		p.first, p.began = step, now
	} else if step <= p.last { // a rank that is behind
		return
	}
	p.last, p.reported, p.total = step, now, total
}

// far returns how far the rule is at a time.
func (p *pace) far(now time.Time) Far {
	f := Far{Step: p.last, Total: max(p.total, 0)}
	took, done := p.reported.Sub(p.began), p.last-p.first
	if f.Total > p.last && done > 0 && took > 0 {
		left := time.Duration(float64(took) / done * (f.Total - p.last))
		f.Left = max(left-now.Sub(p.reported), time.Second)
	}
	return f
}
