//go:build linux

package record

import (
	"time"

	"github.com/musterhq/muster/agent/event"
)

// Links are figures about the links of a run.
type Links struct {
	Ever      int     // links that were ever connected
	Redials   int     // redials of links that had been connected
	Redialled int     // links that were redialed
	GapsMS    []int64 // time from each loss of a link to its return, in milliseconds
}

// linksSeen computes these figures from the events of links. It takes every event, also one that the
// file drops or overwrites later.
type linksSeen struct {
	lost    map[string]time.Time // when links were cut, by worker; zero: the link is up, or over
	redials map[string]int       // by worker
	gaps    []int64
}

// take takes the next event.
func (s *linksSeen) take(e event.Event) {
	switch e.Kind {
	case event.Linked: // the first link of a worker, or of its replacement, which has lost nothing
		if s.lost == nil {
			s.lost, s.redials = map[string]time.Time{}, map[string]int{}
		}
		s.lost[e.Worker] = time.Time{}
	case event.LinkLost:
		if _, linked := s.lost[e.Worker]; linked {
			s.lost[e.Worker] = e.Time
		}
	case event.LinkBack:
		if at := s.lost[e.Worker]; !at.IsZero() {
			s.redials[e.Worker]++
			s.gaps = append(s.gaps, e.Time.Sub(at).Milliseconds())
			s.lost[e.Worker] = time.Time{}
		}
	}
}

// Links returns the figures so far. A nil Log has none.
func (l *Log) Links() (f Links) {
	if l == nil {
		return f
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.Ever, f.Redialled, f.Redials = len(l.links.lost), len(l.links.redials), len(l.links.gaps)
	f.GapsMS = append(f.GapsMS, l.links.gaps...)
	return f
}
