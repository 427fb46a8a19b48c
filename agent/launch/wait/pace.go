package wait

import "time"

// Pace lets looks at all workers follow changes of their links at once, but so
// that they mostly take a fortieth of the time at most: a thousand links come up
// within seconds, and each look goes over all of them.
type Pace struct {
	changes <-chan struct{}
	resting bool
	rest    *time.Timer
}

// restless is what a look may take without a rest after it.
const restless = 100 * time.Microsecond

// longestRest bounds what a look that had to wait for a processor makes of a rest: the
// next change may be one that ends the wait.
const longestRest = 250 * time.Millisecond

// NewPace takes the channel where changes are told.
func NewPace(changes <-chan struct{}) *Pace {
	p := &Pace{changes: changes, rest: time.NewTimer(time.Hour)}
	p.rest.Stop()
	return p
}

// Due is where changes are told; nil during a rest, after which they still are.
func (p *Pace) Due() <-chan struct{} {
	if p.resting {
		return nil
	}
	return p.changes
}

// Over is where the end of a rest is told; Resume is to follow.
func (p *Pace) Over() <-chan time.Time { return p.rest.C }

// Resume ends a rest.
func (p *Pace) Resume() { p.resting = false }

// Looked notes a look and when it began.
func (p *Pace) Looked(began time.Time) {
	if took := time.Since(began); took > restless {
		p.resting = true
		p.rest.Reset(min(39*took, longestRest))
	}
}

// Stop lets go of the timer.
func (p *Pace) Stop() { p.rest.Stop() }
