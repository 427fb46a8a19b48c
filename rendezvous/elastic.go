package rendezvous

import "time"

// DefaultSettle is how long an elastic job waits for further workers at its start. Each worker that
// comes later is a change of the running job.
const DefaultSettle = 5 * time.Second

// arrivals records when the number of ready workers last changed.
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

// enough reports whether an elastic job may start with that many workers: at least Least, and no
// further one has arrived for a while.
func (b *Board) enough(ready int) bool {
	return b.Least > 0 && ready >= b.Least && b.quiet(ready, DefaultSettle)
}

// quiet reports whether no further worker has become ready for a while.
func (b *Board) quiet(ready int, usual time.Duration) bool {
	return ready == b.arrivals.ready && b.arrivals.now.Sub(b.arrivals.at) >= fallback(b.Settle, usual)
}

// spares reports whether the job can become complete without that many workers, including workers
// whose pods do not exist yet.
func (b *Board) spares(doomed int) bool {
	return b.needed() < b.want && b.want-doomed >= b.needed()
}

// needed returns how many workers the job needs at least.
func (b *Board) needed() int {
	switch {
	case b.Least > 0:
		return b.Least
	case b.Seats != nil:
		return b.Seats.Number()
	}
	return b.want
}
