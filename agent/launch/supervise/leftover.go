//go:build linux

package supervise

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/stacks"
)

// Leftover watches the remaining processes of a group, or of an mpirun's ranks, after a rank has
// ended with 0. Ranks that wait for the ended rank wait forever. A nil Leftover does nothing.
type Leftover struct {
	within time.Duration // after this time it is ended; 0: never
	timer  *time.Timer
	news   chan struct{} // has a token when the first rank has ended with 0

	mu     sync.Mutex
	first  string    // the rank that ended first
	at     time.Time // when it ended
	failed bool      // a process has failed, so the rest is being stopped
	launch int       // index of the rank's mpirun; 0: it belongs to a group

	// Used only by the supervisor.
	watch *hang.Watch // nil: no rank has ended
	said  int         // number of reports
}

// restTime is how long the rest may do nothing before the first report. Each further report takes
// twice as long as the previous one.
const restTime = time.Minute

// NewLeftover returns a Leftover that ends the rest after this time; 0 means never.
func NewLeftover(within time.Duration) *Leftover {
	r := &Leftover{within: within, timer: time.NewTimer(time.Hour), news: make(chan struct{}, 1)}
	r.timer.Stop()
	return r
}

// Note records the end of a process. well means that it is a rank and ended with 0. failed means
// that the rest is stopped because of it.
func (r *Leftover) Note(label string, well, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	if !well || r.first != "" {
		return
	}
	r.first, r.at = label, time.Now()
	r.news <- struct{}{} // this is the only one
}

// NoteDone records the first end with 0 of a rank of an mpirun. A script may start several mpiruns.
// The latest one with such an end counts.
func (r *Leftover) NoteDone(launch int, rank string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.launch == launch {
		return
	}
	r.launch, r.first, r.at = launch, "rank "+rank, at
	select {
	case r.news <- struct{}{}:
	default: // the supervisor has not yet read an earlier one
	}
}

// ended returns a channel with a token when the first rank has ended with 0.
func (r *Leftover) ended() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.news
}

// tell returns the channel that reports that the rest does nothing. due returns the channel that
// fires when the rest has to end.
func (r *Leftover) tell() <-chan hang.Finding {
	if r == nil {
		return nil
	}
	return r.watch.Tell()
}

func (r *Leftover) due() <-chan time.Time {
	if r == nil {
		return nil
	}
	return r.timer.C
}

func (r *Leftover) end() {
	if r != nil {
		r.timer.Stop()
		r.watch.End()
	}
}

// since returns "rank 0 ended with 0 62 s ago". over reports whether the rest is ending anyway.
func (r *Leftover) since() (text string, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s ended with 0 %s ago", r.first, phrase.Seconds(time.Since(r.at))), r.failed
}

// onFinished begins to watch the rest.
func (s *Supervisor) onFinished() {
	s.Rest.mu.Lock()
	at := s.Rest.at
	s.Rest.mu.Unlock()
	if s.Rest.within > 0 {
		s.Rest.timer.Reset(s.Rest.within - time.Since(at))
	}
	s.Rest.watch.End() // of an mpirun that has ended
	s.Rest.said = 0
	s.Rest.watch = s.Hang.Follow(restTime)
	s.Rest.watch.Begin()
}

// restOf reports whether the mpirun of the rest still runs, and returns its sessions. For a group
// it returns true and nil.
func (s *Supervisor) restOf() (runs bool, sessions map[string]bool) {
	s.Rest.mu.Lock()
	launch := s.Rest.launch
	s.Rest.mu.Unlock()
	if launch == 0 {
		return true, nil
	}
	return s.tally.LaunchRuns(launch), s.tally.SessionsOf(launch)
}

// onRest prints which processes are still there and where they sit, because they have done nothing
// for a while.
func (s *Supervisor) onRest(h hang.Finding) {
	since, over := s.Rest.since()
	if over || s.ending.phase.stops() || h.Over || len(h.Unknown) > 0 {
		return
	}
	runs, sessions := s.restOf()
	list := hang.Sitters(h.Scenes, s.Hang.LabelOf)
	if sessions != nil {
		list = slices.DeleteFunc(list, func(one hang.Sitter) bool { return !sessions[one.Actor.Session] || one.Actor.Process.Rank == "" })
		if h.Stacks != nil {
			h.Stacks.Ranks = slices.DeleteFunc(h.Stacks.Ranks, func(r stacks.Rank) bool { return !sessions[r.Record.Session] })
		}
	}
	if !runs || len(list) == 0 {
		s.Rest.watch.End()
		return
	}
	s.voice.Warn("%s, and no activity for %s; still running: %s (--exit-within ends them)", since, phrase.Seconds(s.Rest.watch.After), phrase.Count(len(list), "process"))
	if _, said := s.tellStacks(h, "exit"); !said {
		s.tellPlaces(list, s.Rest.said == 0, h.Stacks)
	}
	s.Rest.said++
	s.Rest.watch.End()
	s.Rest.watch = s.Hang.Follow(restTime << min(s.Rest.said, 10))
	s.Rest.watch.Begin()
}

// onRestDue ends the rest when its time is up.
func (s *Supervisor) onRestDue() (changed bool) {
	since, over := s.Rest.since()
	runs, sessions := s.restOf()
	if over || s.ending.phase.stops() || !runs {
		return false
	}
	is, was := "others are", "others were"
	if sessions != nil { // the ranks may have ended, but their mpirun has not
		is, was = "its mpirun is", "its mpirun was"
	}
	s.voice.Warn("%s, and %s still running; stopping %s (--exit-within=%s), killing it after %s", since, is, s.Name, phrase.Brief(s.Rest.within), phrase.Seconds(s.cfg.Grace))
	s.Hung = fmt.Sprintf("%s was stopped: %s, and %s still running (--exit-within=%s)", s.Name, since, was, phrase.Brief(s.Rest.within))
	return s.ending.onHang(s.cfg.Grace)
}
