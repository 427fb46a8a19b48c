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
	mu sync.Mutex
	at map[identity]uint64 // when, as in Proc.Start
}

// signal sends sig to p, unless a stop has sent it TERM. at is then when, as in Proc.Start, else 0.
func (a *asked) signal(p Proc, sig syscall.Signal) (at uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.at[p.identity()]; at > 0 {
		return at, nil
	}
	now := ticksAt(time.Now()) // what p starts in answer to sig has started later
	err = Signal(p, sig)
	if err == nil && sig == syscall.SIGTERM {
		if a.at == nil {
			a.at = map[identity]uint64{}
		}
		a.at[p.identity()] = now
	}
	return 0, err
}

// prune forgets the processes that have ended.
func (a *asked) prune() {
	var buf bytes.Buffer
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.at {
		if p, err := readStat(id.pid, &buf); err != nil || p.Start != id.start {
			delete(a.at, id)
		}
	}
}
