package link

import (
	"fmt"
	"time"
)

// phase is the state of a link's connection. Only standing.transition changes it.
//
//	                 cut
//	fresh ---> up ---------> down ---> up
//	           |              ^
//	      PARK |              | the dial failed
//	           v              |
//	         parked ----------+
//	         |    \           |
//	   woken |     \ a sixth of the lease has passed
//	         v      v         |
//	         up   renewing ---+
//	                |
//	                +---> up
//
// Every arrow to up is the worker's WELCOME. A woken link stays parked until its dial has an
// answer. A failed dial in fresh or down changes nothing.
//
// The end of a link is not a phase: its owner may give it up in any phase, see fate.
type phase uint8

const (
	fresh    phase = iota // it never had a connection
	up                    // it has a connection
	down                  // it has lost a connection: the lease runs
	parked                // it was closed on purpose: only detached sessions need it
	renewing              // it was parked, and is dialed only to renew its lease
)

// String returns the phase as one word.
func (p phase) String() string {
	return [...]string{"fresh", "up", "down", "parked", "renewing"}[p]
}

// leadsTo reports whether there is an arrow from p to another phase.
func (p phase) leadsTo(to phase) bool {
	switch to {
	case up:
		return p != up
	case down:
		return p == up || p == parked || p == renewing
	case parked:
		return p == up
	case renewing:
		return p == parked
	}
	return false
}

// standing is the phase of a link, with counts and times of its changes.
type standing struct {
	phase   phase
	since   time.Time     // when it came up, was lost or was parked
	asked   time.Time     // of a link without a connection: since when the worker owes an answer; zero: it owes none
	lasted  time.Duration // lifetime of the last connection
	redials int           // number of returns after a loss
	last    error         // why the last dial or connection ended; nil while it is up
}

// transition moves the link to another phase. It panics if no arrow leads there. Only Run's
// goroutine changes the phase, so changes follow one another.
func (s *standing) transition(to phase, now time.Time) {
	if !s.phase.leadsTo(to) {
		panic(fmt.Sprintf("link: from %s to %s", s.phase, to))
	}
	switch s.phase {
	case up:
		s.lasted = now.Sub(s.since)
	case down: // the next phase is up
		s.redials++
	}
	if to == up || to == parked {
		s.asked = time.Time{}
	}
	if to == up {
		s.last = nil
	}
	if to != renewing {
		s.since = now
	}
	s.phase = to
}

// parked reports whether the link has no connection on purpose.
func (s *standing) parked() bool { return s.phase == parked || s.phase == renewing }

// lostFor reports whether the link has been down for d or longer.
func (s *standing) lostFor(d time.Duration) bool { return s.phase == down && time.Since(s.since) >= d }
