//go:build linux

package supervise

import (
	"context"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/straggler"
)

// Slow finds out where stragglers run. A nil Slow does nothing.
type Slow struct {
	spawn  func(func())
	places func(ctx context.Context) map[int]straggler.Place
	found  chan map[int]straggler.Place
	asking bool
	wait   []straggler.Change // not printed yet
}

// NewSlow returns a Slow. places returns where ranks run; it may ask the workers. spawn calls it in
// a goroutine.
func NewSlow(spawn func(func()), places func(ctx context.Context) map[int]straggler.Place) *Slow {
	return &Slow{spawn: spawn, places: places, found: make(chan map[int]straggler.Place, 1)}
}

// placesTime is how long it may take to find out where ranks run. A message without the worker
// follows then.
const placesTime = 10 * time.Second

// mostSlow bounds the messages about stragglers that have changed at the same time.
const mostSlow = 5

// told returns a channel that gets the places of ranks.
func (s *Slow) told() <-chan map[int]straggler.Place {
	if s == nil {
		return nil
	}
	return s.found
}

// onSteps looks for ranks that have become stragglers, or have recovered, and asks where they run.
func (s *Supervisor) onSteps(ctx context.Context, now time.Time) {
	if s.Slow == nil || s.ending.phase.ends() {
		return
	}
	s.Slow.wait = append(s.Slow.wait, s.Progress.Stragglers(now)...)
	if len(s.Slow.wait) == 0 || s.Slow.asking {
		return
	}
	s.Slow.asking = true
	slow := s.Slow
	slow.spawn(func() {
		ctx, cancel := context.WithTimeout(ctx, placesTime)
		defer cancel()
		slow.found <- slow.places(ctx) // never blocks: one question at a time
	})
}

// onStragglers prints what has changed, and records it.
func (s *Supervisor) onStragglers(places map[int]straggler.Place) {
	changes := s.Slow.wait
	s.Slow.asking, s.Slow.wait = false, nil
	all := straggler.Group(changes, func(rank int) straggler.Place {
		p := places[rank]
		if p.Node == "" {
			p.Node = s.nodeOf(p.Worker)
		}
		return p
	})
	for i, f := range all {
		switch {
		case i == mostSlow:
			s.voice.Warn("and %s; agent top shows them all", phrase.Count(len(all)-i, "more worker"))
		case i > mostSlow:
		case f.Recovered():
			s.voice.Say("%s", f.Sentence())
		default:
			s.voice.Warn("%s", f.Sentence())
		}
		for _, c := range f.Changes {
			s.noteStraggler(straggler.Found{Place: f.Place, Changes: []straggler.Change{c}}, c)
		}
	}
}

// lateStragglers prints what was found out just before the command ended.
func (s *Supervisor) lateStragglers() {
	if s.Slow == nil || len(s.Slow.wait) == 0 {
		return
	}
	select {
	case places := <-s.Slow.found:
		s.onStragglers(places)
	default:
		s.onStragglers(nil)
	}
}

// noteStraggler adds one change to the events and to the report.
func (s *Supervisor) noteStraggler(f straggler.Found, c straggler.Change) {
	kind := event.Straggler
	if c.Recovered {
		kind = event.Recovered
		for i := range s.Stragglers {
			if s.Stragglers[i].Rank == c.Rank {
				s.Stragglers[i].Recovered = true
			}
		}
	} else {
		s.Stragglers = append(s.Stragglers, report.Straggler{Rank: c.Rank, Worker: f.Worker, Node: f.Node, Step: c.Time, Median: c.Median, Ranks: c.Ranks})
	}
	s.record.Rank(time.Now(), kind, f.Worker, c.Rank, f.Sentence())
}
