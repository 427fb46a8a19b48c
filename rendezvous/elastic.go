package rendezvous

import "time"

// DefaultSettle is how long the workers of an elastic job have for coming up
// together: each that comes later is a change while the job runs.
const DefaultSettle = 5 * time.Second

// arrivals tells when the number of ready workers last changed.
type arrivals struct {
	ready   int
	at, now time.Time
}

func (a *arrivals) see(ready int, now time.Time) {
	if ready != a.ready || a.at.IsZero() {
		a.ready, a.at = ready, now
	}
	a.now = now
}

// enough: an elastic job may begin with that many, as nobody else has come for a
// while.
func (b *Board) enough(ready int) bool {
	return b.Least > 0 && ready >= b.Least && ready == b.arrivals.ready &&
		b.arrivals.now.Sub(b.arrivals.at) >= fallback(b.Settle, DefaultSettle)
}

// spares: an elastic job can become complete without that many, be it with pods
// that are still to come.
func (b *Board) spares(doomed int) bool { return b.Least > 0 && b.want-doomed >= b.Least }

// needed is how many workers the job cannot do without.
func (b *Board) needed() int {
	if b.Least > 0 {
		return b.Least
	}
	return b.want
}
