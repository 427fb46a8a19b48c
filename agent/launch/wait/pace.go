package wait

import "time"

// Pace limits how often the workers are scanned. A change of a link leads to a scan at once, but
// scans mostly take at most 1/40 of the time. The limit is needed because 1,000 links come up
// within seconds, and each scan covers all of them.
type Pace struct {
	changes <-chan struct{}
	resting bool
	rest    *time.Timer
}

// restless is how long a scan may take without a rest after it.
const restless = 100 * time.Microsecond

// longestRest bounds the rest after a scan that had to wait for a processor. The next change may be
// the one that ends the wait.
const longestRest = 250 * time.Millisecond

// NewPace returns a Pace for the channel that signals changes.
func NewPace(changes <-chan struct{}) *Pace {
	p := &Pace{changes: changes, rest: time.NewTimer(time.Hour)}
	p.rest.Stop()
	return p
}

// Due returns the channel that signals changes. It returns nil during a rest; the channel keeps a
// change until the rest is over.
func (p *Pace) Due() <-chan struct{} {
	if p.resting {
		return nil
	}
	return p.changes
}

// Over returns the channel that signals the end of a rest. The caller then calls Resume.
func (p *Pace) Over() <-chan time.Time { return p.rest.C }

// Resume ends a rest.
func (p *Pace) Resume() { p.resting = false }

// Looked records a scan, given the time when it began.
func (p *Pace) Looked(began time.Time) {
	if took := time.Since(began); took > restless {
		p.resting = true
		p.rest.Reset(min(39*took, longestRest))
	}
}

// Stop stops the timer.
func (p *Pace) Stop() { p.rest.Stop() }
