package launch

import "time"

// pace lets looks at all workers follow changes of their links at once, but so
// that they mostly take a fortieth of the time at most: a thousand links come up
// within seconds, and each look goes over all of them.
type pace struct {
	changes <-chan struct{}
	resting bool
	rest    *time.Timer
}

// restless is what a look may take without a rest after it.
const restless = 100 * time.Microsecond

// longestRest bounds what a look that had to wait for a processor makes of a rest: the
// next change may be one that ends the wait.
const longestRest = 250 * time.Millisecond

func newPace(changes <-chan struct{}) *pace {
	p := &pace{changes: changes, rest: time.NewTimer(time.Hour)}
	p.rest.Stop()
	return p
}

// due is where changes are told; nil during a rest, after which they still are.
func (p *pace) due() <-chan struct{} {
	if p.resting {
		return nil
	}
	return p.changes
}

// over is where the end of a rest is told; resume is to follow.
func (p *pace) over() <-chan time.Time { return p.rest.C }

func (p *pace) resume() { p.resting = false }

// looked notes a look and when it began.
func (p *pace) looked(began time.Time) {
	if took := time.Since(began); took > restless {
		p.resting = true
		p.rest.Reset(min(39*took, longestRest))
	}
}

func (p *pace) stop() { p.rest.Stop() }
