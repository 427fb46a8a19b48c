package join

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// chair opens sessions at one seat of the barrier.
type chair struct {
	lead     *lead
	rank     int
	instance string // the instance in the seat when the attempt began
	attempt  int
	process  int
}

// session is one process of a member, as the group sees it.
type session struct {
	chair
	once  sync.Once
	ended chan struct{}
	exit  wire.ExitRecord
	err   error
}

// Open implements group.Opener. It tells the member to start the process.
func (c chair) Open(context.Context, string, wire.Spec, io.Writer, io.Writer) (group.Session, error) {
	s := &session{chair: c, ended: make(chan struct{})}
	c.lead.mu.Lock()
	c.lead.sessions[s] = true
	c.lead.mu.Unlock()
	c.hand(func(w *work) { w.Start = append(w.Start, c.process) })
	select {
	case c.lead.opened <- struct{}{}: // its member may be gone already, and then nothing else changes
	default:
	}
	return s, nil
}

// hand changes the work of the member.
func (c chair) hand(change func(*work)) {
	c.lead.mu.Lock()
	defer c.lead.mu.Unlock()
	w := c.lead.orders[c.rank]
	if w == nil {
		w = &work{Attempt: c.attempt}
		c.lead.orders[c.rank] = w
	}
	change(w)
	c.lead.coord.Hand(c.rank, c.instance, text(w))
}

// Wait implements group.Session.
func (s *session) Wait(ctx context.Context) (wire.ExitRecord, error) {
	select {
	case <-s.ended:
		return s.exit, s.err
	case <-ctx.Done():
		return wire.ExitRecord{}, ctx.Err()
	}
}

// Stop implements group.Session.
func (s *session) Stop(grace time.Duration) {
	s.hand(func(w *work) { w.Stop = append(w.Stop, halt{s.process, grace.Milliseconds()}) })
}

func (s *session) close(exit wire.ExitRecord, err error) {
	s.once.Do(func() {
		s.exit, s.err = exit, err
		close(s.ended)
	})
}

// lostError reports that a member was lost.
type lostError struct{ why string }

func (e *lostError) Error() string { return e.why }

// settleEach is a pause for each member after a look at all of them, so that thousands of members
// that report at the same time cost few looks.
const settleEach = 10 * time.Microsecond

// follow closes the sessions whose processes have ended or whose members are gone, until ctx ends.
// It calls leave with each rank whose pod was told to stop.
func (l *lead) follow(ctx context.Context, table []barrier.Card, leave func(rank int)) {
	for {
		changed := l.coord.Changed()
		next, leaves := l.settle(l.coord.Seats(), table, time.Now())
		for _, rank := range leaves {
			leave(rank)
		}
		timer := time.NewTimer(next)
		select {
		case <-changed:
		case <-l.opened:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if !pause(ctx, time.Duration(len(table))*settleEach) {
			return
		}
	}
}

// pause waits for d, or until ctx ends. It then returns false.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// settle checks every open session. It returns when to check again even without a change, and the
// ranks whose pods have been told to stop since.
func (l *lead) settle(seats []barrier.Seat, table []barrier.Card, now time.Time) (next time.Duration, leaves []int) {
	next = time.Hour
	l.mu.Lock()
	defer l.mu.Unlock()
	for rank, card := range table {
		if seats[rank].News.Leaving != "" && seats[rank].Card.Instance == card.Instance && !l.leavers[rank] {
			l.leavers[rank], leaves = true, append(leaves, rank)
		}
	}
	told := map[int]*done{}
	for s := range l.sessions {
		seat := seats[s.rank]
		if told[s.rank] == nil {
			d := &done{Attempt: -1}
			_ = json.Unmarshal(seat.News.Work, d) // from another release; it then counts as empty
			told[s.rank] = d
		}
		exit, err, ended := s.judge(seat, told[s.rank], l.cfg.Lease, now)
		if ended {
			s.close(exit, err)
			delete(l.sessions, s)
		} else if !seat.Here {
			next = min(next, max(time.Millisecond, seat.Left.Add(l.cfg.Lease).Sub(now)))
		}
	}
	return next, leaves
}

// judge reports whether the session's process has ended, according to its seat.
func (s *session) judge(seat barrier.Seat, told *done, lease time.Duration, now time.Time) (exit wire.ExitRecord, err error, ended bool) {
	if seat.Card.Instance != s.instance {
		return exit, &lostError{absenceOf(seat, barrier.Card{Instance: s.instance})}, true
	}
	if told.Attempt == s.attempt {
		for _, e := range told.Ends {
			if e.Process == s.process {
				return e.Exit, nil, true
			}
		}
		if told.Broken != "" {
			return wire.ExitRecord{Code: 126, Error: told.Broken}, nil, true
		}
	}
	switch {
	case seat.Here:
		return exit, nil, false
	case seat.News.Leaving != "":
		return wire.ExitRecord{Code: 128 + int(syscall.SIGTERM), Reason: wire.ReasonPreempted}, nil, true
	case now.Sub(seat.Left) >= lease:
		return exit, &lostError{fmt.Sprintf("it did not come back within %s: %s", lease, seat.Why)}, true
	}
	return exit, nil, false
}
