package link

import (
	"maps"
	"slices"
	"time"
)

// work is what a link is needed for.
type work struct {
	sessions map[uint32]*Session // those that run, by their channels
	next     uint32              // the channel given out last
	detached int                 // sessions that have ended with members that live on
	active   time.Time           // when the last session ended, or somebody wanted the link
}

// add gives a session its channel.
func (w *work) add(s *Session) {
	w.next++
	s.channel = w.next
	w.sessions[s.channel] = s
}

// remove takes off a session that has ended.
func (w *work) remove(s *Session) {
	delete(w.sessions, s.channel)
	w.active = time.Now()
	if s.exit != nil && s.exit.Detached {
		w.detached++
	}
}

func (w *work) list() []*Session { return slices.Collect(maps.Values(w.sessions)) }

// detachedAlone reports whether only detached sessions have used the link for d.
func (w *work) detachedAlone(now time.Time, d time.Duration) bool {
	return w.detached > 0 && len(w.sessions) == 0 && now.Sub(w.active) >= d
}

// mayPark reports whether only detached sessions have used the link for
// ParkAfter.
func (l *Link) mayPark(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg.ParkAfter >= 0 && l.farewell.record == nil && l.work.detachedAlone(now, l.cfg.ParkAfter)
}

// settle forgets who has roused the link while it was up: all that was done. What has
// come since it was decided to park is not. Called with l.mu held.
func (l *Link) settle() {
	select {
	case <-l.wake:
	default:
	}
	if len(l.work.sessions) > 0 || l.farewell.record != nil {
		l.rouse()
	}
}

// Wake lets a parked link dial now, in place of waiting for work: its owner
// doubts that the worker is still there. Once a dial has failed the link counts
// as down since then (State.Parked is false), and its lease runs.
func (l *Link) Wake() { l.rouse() }

// rouse lets a parked link dial.
func (l *Link) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
