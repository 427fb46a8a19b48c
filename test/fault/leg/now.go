package leg

import (
	"maps"
	"slices"
	"time"
)

// Stall silences the newest connection now, in both directions, and reports
// whether there was one.
func (l *Leg) Stall() bool {
	l.mu.Lock()
	p := l.newest
	l.mu.Unlock()
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = [2]bool{true, true}
	return true
}

// End ends every connection at once, by FIN or by RST, and returns how many
// there were.
func (l *Leg) End(f Fault) int {
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.pairs))
	l.newest = nil
	l.mu.Unlock()
	for _, p := range all {
		if f == FIN {
			p.finish()
		} else {
			p.cut()
		}
	}
	return len(all)
}

// Accepted returns when connections came, and forgets them.
func (l *Leg) Accepted() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.accepted
	l.accepted = nil
	return at
}
