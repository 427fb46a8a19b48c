//go:build linux

package launch

import (
	"fmt"
	"sync"
	"time"
)

// leftover watches over what is left of a group when a rank has ended with 0: ranks that
// wait for it wait forever. A nil one does nothing.
type leftover struct {
	within time.Duration // after which it is ended; 0: never
	timer  *time.Timer
	news   chan struct{} // has one when the first rank has ended with 0

	mu     sync.Mutex
	first  string    // the rank that ended first
	at     time.Time // when it did
	failed bool      // one has failed: the rest is being stopped

	// The supervisor's own.
	watch *hangWatch // nil: none has ended
	said  int        // how often it was told
}

// restTime is how long the rest may do nothing until it is told first; each further
// report takes twice as long as the one before.
const restTime = time.Minute

func newLeftover(within time.Duration) *leftover {
	r := &leftover{within: within, timer: time.NewTimer(time.Hour), news: make(chan struct{}, 1)}
	r.timer.Stop()
	return r
}

// note takes the end of a process: well is that of a rank with 0, failed one for which
// the rest is stopped.
func (r *leftover) note(label string, well, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	if !well || r.first != "" {
		return
	}
	r.first, r.at = label, time.Now()
	r.news <- struct{}{} // the only one
}

// ended is when the first rank has ended with 0.
func (r *leftover) ended() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.news
}

// tell is when the rest has done nothing for a time; due is when it has to end.
func (r *leftover) tell() <-chan hang {
	if r == nil {
		return nil
	}
	return r.watch.tell()
}

func (r *leftover) due() <-chan time.Time {
	if r == nil {
		return nil
	}
	return r.timer.C
}

func (r *leftover) end() {
	if r != nil {
		r.timer.Stop()
		r.watch.end()
	}
}

// since is "rank 0 ended with 0 62 s ago"; over: the rest is ending anyway.
func (r *leftover) since() (text string, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s ended with 0 %s ago", r.first, seconds(time.Since(r.at))), r.failed
}

// onFinished begins to watch over the rest.
func (s *supervisor) onFinished() {
	if s.rest.within > 0 {
		s.rest.timer.Reset(s.rest.within)
	}
	s.rest.watch = s.hang.follow(restTime)
	s.rest.watch.begin()
}

// ends reports whether the run ends anyway.
func (s *supervisor) ends() bool { return s.ending.told != 0 || s.ending.lost || s.ending.ill }

// onRest says who is still there and where it sits, where the rest has done nothing.
func (s *supervisor) onRest(h hang) {
	since, over := s.rest.since()
	if over || s.ends() || h.over || len(h.unknown) > 0 {
		return
	}
	list := sitters(h.scenes, s.hang.labelOf)
	s.voice.Warn("%s, and nothing has moved for %s; still there: %s (--exit-within ends them)", since, seconds(s.rest.watch.after), count(len(list), "process"))
	if _, said := s.tellStacks(h, "exit"); !said {
		s.tellPlaces(list, s.rest.said == 0, h.stacks)
	}
	s.rest.said++
	s.rest.watch.end()
	s.rest.watch = s.hang.follow(restTime << min(s.rest.said, 10))
	s.rest.watch.begin()
}

// onRestDue ends the rest, which has had its time.
func (s *supervisor) onRestDue() (changed bool) {
	since, over := s.rest.since()
	if over || s.ends() {
		return false
	}
	s.voice.Warn("%s, and others are still there; stopping %s (--exit-within=%s), %s to go before it is killed", since, s.name, brief(s.rest.within), seconds(s.cfg.Grace))
	s.hung = fmt.Sprintf("%s was stopped: %s, and others were still there (--exit-within=%s)", s.name, since, brief(s.rest.within))
	return s.ending.onHang(s.cfg.Grace)
}
