//go:build linux

package reap

import (
	"bytes"
	"sync"
	"syscall"
	"time"
)

// asked remembers the processes to which stops have sent TERM. Stops overlap: a worker may be told
// to stop while its launcher stops a session. A second TERM would make a rank that saves start over.
type asked struct {
	mu  sync.Mutex
	all map[identity]term
}

// term is a TERM that a stop has sent.
type term struct {
	at    uint64    // when, as in Proc.Start
	until time.Time // end of the stop's grace
}

// signal sends sig to p for a stop whose grace ends at until, unless a stop has sent p TERM. at is then
// when, as in Proc.Start, else 0.
func (a *asked) signal(p Proc, sig syscall.Signal, until time.Time) (at uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one, ok := a.all[p.identity()]; ok {
		return one.at, nil
	}
	now := ticksAt(time.Now()) // what p starts in answer to sig has started later
	err = Signal(p, sig)
	if err == nil && sig == syscall.SIGTERM {
		if a.all == nil {
			a.all = map[identity]term{}
		}
		a.all[p.identity()] = term{now, until}
	}
	return 0, err
}

// prune forgets the processes that have ended.
func (a *asked) prune() {
	var buf bytes.Buffer
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.all {
		if p, err := readStat(id.pid, &buf); err != nil || p.Start != id.start {
			delete(a.all, id)
		}
	}
}

// Granted returns when the graces end that stops have given to processes that still live: the latest
// time, or the zero time if there is none.
func (r *Reaper) Granted() (until time.Time) {
	r.asked.prune()
	r.asked.mu.Lock()
	defer r.asked.mu.Unlock()
	for _, one := range r.asked.all {
		if one.until.After(until) {
			until = one.until
		}
	}
	return until
}
