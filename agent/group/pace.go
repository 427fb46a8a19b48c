package group

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// mostOpening is how many sessions may be unconfirmed at once. Ten thousand that are opened together
	// fill the memory of a launcher with records that wait to be sent.
	mostOpening = 512
	// openingTime is how long sessions count as unconfirmed, so that workers without an answer do not
	// delay the others.
	openingTime = time.Second
)

// pace opens sessions as fast as workers confirm them. Only Run's goroutine uses it, except for
// confirm.
type pace struct {
	queue     []int // processes that are to be opened
	opening   int   // sessions that no worker has confirmed when this was last brought up to date
	confirmed atomic.Int64
	news      chan struct{} // there are new confirmations
	timer     *time.Timer   // ends openingTime while the queue waits
	waits     bool          // the timer runs
}

func newPace() pace { return pace{news: make(chan struct{}, 1)} }

// confirm reports that a worker has a session, or that the session has ended. It does not block.
func (p *pace) confirm() {
	p.confirmed.Add(1)
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// opened counts a session that can report when its worker has confirmed it.
func (p *pace) opened(s Session) {
	if c, ok := s.(interface{ Confirmed(f func()) bool }); ok && c.Confirmed(p.confirm) {
		p.opening++
	}
}

// hasTurn reports whether one more session may be opened.
func (p *pace) hasTurn() bool {
	p.opening = max(0, p.opening-int(p.confirmed.Swap(0)))
	return p.opening < mostOpening
}

// elapsed is called when openingTime is over.
func (p *pace) elapsed() {
	p.confirmed.Store(0)
	p.opening, p.waits = 0, false
}

// proceed opens the processes whose turn has come. None is opened once the group is about to end.
func (g *Group) proceed(waiting context.Context) {
	p := &g.pace
	for len(p.queue) > 0 && p.hasTurn() {
		next := p.queue[0]
		p.queue = p.queue[1:]
		if !g.processes[next].ended {
			g.open(waiting, next)
		}
	}
	if len(p.queue) > 0 && !p.waits {
		p.waits = true
		p.timer.Reset(openingTime)
	}
}
