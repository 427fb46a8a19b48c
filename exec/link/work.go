package link

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/exec/flow"
)

// work is what a link is needed for.
type work struct {
	sessions map[uint32]*Session // running sessions, by channel
	next     uint32              // the last channel that was assigned
	detached int                 // number of sessions that ended and have processes that live on
	output   uint64              // bytes of output of sessions that were removed
	active   time.Time           // when the last session ended, or the link came up other than to renew its lease
}

// add assigns a channel to a session.
func (w *work) add(s *Session) {
	w.next++
	s.channel = w.next
	w.sessions[s.channel] = s
}

// remove removes an ended session.
func (w *work) remove(s *Session) {
	delete(w.sessions, s.channel)
	w.output += s.stdout.Received() + s.stderr.Received()
	w.active = time.Now()
	if s.exit != nil && s.exit.Detached {
		w.detached++
	}
}

func (w *work) list() []*Session { return slices.Collect(maps.Values(w.sessions)) }

// Output returns how many bytes of output of all sessions have arrived, and how many of these were not
// passed on yet. A nil Link has none.
func (l *Link) Output() (received, held uint64) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	received = l.work.output
	for _, s := range l.work.sessions {
		for _, in := range []*flow.In{s.stdout, s.stderr} {
			written := in.Written() // before the other, which only grows
			got := in.Received()
			received, held = received+got, held+got-written
		}
	}
	return received, held
}

// detachedAlone reports whether the link has had only detached sessions for at least d.
func (w *work) detachedAlone(now time.Time, d time.Duration) bool {
	return w.detached > 0 && len(w.sessions) == 0 && now.Sub(w.active) >= d
}

// mayPark reports whether the link has had only detached sessions for at least ParkAfter.
func (l *Link) mayPark(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg.ParkAfter >= 0 && l.farewell.record == nil && l.work.detachedAlone(now, l.cfg.ParkAfter)
}

// settle clears wake-ups from the time when the link was up, because they have been served. Work
// that arrived after the decision to park wakes the link again. The caller holds l.mu.
func (l *Link) settle() {
	select {
	case <-l.wake:
	default:
	}
	if len(l.work.sessions) > 0 || l.farewell.record != nil {
		l.rouse()
	}
}

// Wake makes a parked link dial now instead of waiting for work: its owner doubts that the worker
// still exists. If that dial fails, the link counts as down since then (State.Parked is false), and
// its lease runs.
func (l *Link) Wake() { l.rouse() }

// rouse makes a parked link dial.
func (l *Link) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
