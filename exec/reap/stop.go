//go:build linux

package reap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Pauses between two scans while a stop waits. A collected child ends a pause early, but not before
// settle, because a thousand ranks end in one burst.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 100 * time.Millisecond
	settle     = 2 * time.Millisecond
	// rest is how much longer than the last scan a pause is at least, unless a child ended. A machine
	// may have thousands of processes, or no time for this one. Scans would take the time that the
	// processes need to end.
	rest      = 10
	longPause = time.Second // such a pause is no longer
)

// enough is how many scans in a row must find no live process and be quiet. A process that ended
// during a scan may have forked just before. If processes of others end all the time, no scan is
// quiet, and atMost scans are enough.
const (
	enough = 2
	atMost = 12
)

// Report says what a stop did.
type Report struct {
	Found  int // processes that were alive in any scan
	Asked  int // of these, sent TERM, or the signal of a Drain
	Killed int // of these, sent KILL
	Left   int // alive in the last scan
	Scans  int
	Ranks  []Outcome // the ranks, which Drain asked first
	Others int       // ranks that live when Ask returns
}

// Stop ends the processes that find returns, including new ones. It sends TERM (then CONT to
// stopped ones), waits up to grace, and sends KILL, until two scans in a row find no live process.
// A process to which another stop has sent TERM gets no signal before the KILL.
// Processes that were started after the first TERM get theirs in the last fifth of grace, at most 5
// s before its end.
//
// The error joins the reasons why processes could not be signaled (they belong to another user). Or
// it is find's, or ctx's, in which case processes may live. A process in uninterruptible sleep
// survives KILL, so give ctx a deadline.
func (r *Reaper) Stop(ctx context.Context, find func() ([]Proc, error), grace time.Duration) (Report, error) {
	s := newStop(r, find, grace)
	err := s.finish(ctx, time.Now().Add(grace))
	return s.report, err
}

// Drain is Stop with an order. It first sends sig only to the ranks of the first scan (Ranks),
// because a program may expect INT or QUIT to stop it. It asks all others when these have ended, or
// in the last part of grace (LastPart). Helpers come before launchers: torchrun and MPI daemons that
// are asked earlier kill ranks that still save. If sig is not TERM, Drain sends TERM to all after
// half of grace, including ranks that ignored sig.
func (r *Reaper) Drain(ctx context.Context, find func() ([]Proc, error), sig syscall.Signal, grace time.Duration) (Report, error) {
	return r.DrainTelling(ctx, find, sig, grace, func([]Outcome) {})
}

// DrainTelling is Drain, and calls tell with all outcomes each time that the outcome of a rank has
// changed. The Drain continues after tell has returned, so outcomes are reported before anything
// that ends after the last rank.
func (r *Reaper) DrainTelling(ctx context.Context, find func() ([]Proc, error), sig syscall.Signal, grace time.Duration, tell func([]Outcome)) (Report, error) {
	s := newStop(r, find, grace)
	s.watched.tell = tell
	start := time.Now()
	s.ordered = grace > 0
	var err error
	if grace > 0 {
		err = s.ranks(ctx, sig, start.Add(alone(sig, grace)), func(alive []Proc) []Proc { return s.first(alive, sig) })
	}
	if err == nil {
		err = s.finish(ctx, start.Add(grace))
	}
	if err != nil { // a rank may have ended since the last scan
		_, _ = s.scan()
	}
	s.report.Ranks = s.watched.all
	return s.report, err
}

// alone returns how long a Drain asks only the ranks. Ranks that ignore a signal other than TERM
// get TERM in time to save.
func alone(sig syscall.Signal, grace time.Duration) time.Duration {
	if sig != syscall.SIGTERM {
		return grace / 2
	}
	return grace - LastPart(grace)
}

// Rest is Stop for what a finished process has left behind. If since is not zero, processes that
// were started later get their TERM in the last fifth of grace, because the process may have
// started them to save its work.
func (r *Reaper) Rest(ctx context.Context, find func() ([]Proc, error), since time.Time, grace time.Duration) (Report, error) {
	s := newStop(r, find, grace)
	if !since.IsZero() {
		s.begun, s.firstToo = ticksAt(since), true
	}
	err := s.finish(ctx, time.Now().Add(grace))
	return s.report, err
}

type stop struct {
	r        *Reaper
	find     func() ([]Proc, error)
	asked    map[identity]bool // true if with TERM
	killed   map[identity]bool
	found    map[identity]bool
	present  map[identity]bool  // found by the first scan
	refused  map[identity]error // KILL failed, so waiting for it is useless
	report   Report
	pause    time.Duration
	took     time.Duration // by the last scan
	until    time.Time     // end of the grace
	begun    uint64        // when the first process was asked, as in Proc.Start; 0: none yet
	firstToo bool          // processes of the first scan may also have been started since then
	sparing  time.Time     // until then, processes started since then are not asked
	ordered  bool          // launchers are asked after helpers
	alone    time.Time     // the last scan that found only launchers that were asked; zero: others are left
	slept    time.Duration // how long these launchers have slept
	watched  watched
}

// LastPart returns how long before the end of a grace the processes that were started since the
// stop began are asked: a fifth of it, at most 5 s.
func LastPart(grace time.Duration) time.Duration { return min(grace/5, longestLast) }

// longestLast is enough for helpers and launchers to end. In a pod with a grace period of 60 s it
// leaves a rank that needs its helpers 50 s of the 55 s.
const longestLast = 5 * time.Second

func newStop(r *Reaper, find func() ([]Proc, error), grace time.Duration) *stop {
	r.asked.prune()
	until := time.Now().Add(grace)
	return &stop{r: r, find: find, pause: firstPause, until: until, sparing: until.Add(-LastPart(grace)), asked: map[identity]bool{},
		killed: map[identity]bool{}, found: map[identity]bool{}, present: map[identity]bool{}, refused: map[identity]error{}}
}

// ranks sends sig to the present processes that choose returns, and waits only for them.
func (s *stop) ranks(ctx context.Context, sig syscall.Signal, until time.Time, choose func(alive []Proc) []Proc) error {
	var first map[identity]bool
	for {
		woken := s.r.nextReap()
		alive, err := s.scan()
		if err != nil {
			return err
		}
		if first == nil {
			first = map[identity]bool{}
			for _, p := range choose(alive) {
				first[p.identity()] = true
				s.askWith(p, sig)
			}
		}
		waiting := false
		for _, p := range alive {
			waiting = waiting || first[p.identity()]
		}
		if !waiting || !time.Now().Before(until) {
			return nil
		}
		if err := s.wait(ctx, woken, until); err != nil {
			return err
		}
	}
}

// finish asks all processes, and kills all after the deadline.
func (s *stop) finish(ctx context.Context, deadline time.Time) error {
	s.pause = firstPause
	for empty, all := 0, 0; ; {
		woken := s.r.nextReap()
		alive, err := s.scan()
		if err != nil {
			return err
		}
		late, left, held, overdue := !time.Now().Before(deadline), 0, s.held(alive), s.overdue(alive)
		for _, p := range alive {
			if _, is := held[p.identity()]; late || overdue[p.identity()] {
				s.kill(p)
			} else if !s.spared(p) && !is {
				s.ask(p)
			}
			if s.refused[p.identity()] == nil {
				left++
			}
		}
		quiet := s.r.quietSince(woken)
		switch {
		case left > 0:
			empty, all = 0, 0
		case quiet:
			empty, all = empty+1, all+1
		default:
			empty, all = 0, all+1
		}
		if empty == enough || all == atMost {
			return s.refusals(alive)
		}
		if left > 0 || !quiet {
			if err := s.wait(ctx, woken, deadline); err != nil {
				return err
			}
		}
	}
}

func (s *stop) scan() ([]Proc, error) {
	began := time.Now()
	procs, err := s.find()
	s.took = time.Since(began)
	if err != nil {
		return nil, fmt.Errorf("find processes to stop: %w", err)
	}
	var alive []Proc
	for _, p := range procs {
		if p.Alive() {
			alive = append(alive, p)
			s.found[p.identity()] = true
			if s.report.Scans == 0 {
				s.present[p.identity()] = true
			}
		}
	}
	s.watched.note(alive)
	s.report.Scans++
	s.report.Left = len(alive)
	s.report.Found = len(s.found)
	return alive, nil
}

// spared reports whether p was started after the stop began: a rank may have started it to save its
// work.
func (s *stop) spared(p Proc) bool {
	return s.begun > 0 && p.Start >= s.begun && (s.firstToo || !s.present[p.identity()]) && time.Now().Before(s.sparing)
}

func (s *stop) ask(p Proc) { s.askWith(p, syscall.SIGTERM) }

func (s *stop) askWith(p Proc, sig syscall.Signal) {
	now := ticksAt(time.Now())
	if term, seen := s.asked[p.identity()]; !term {
		switch at, err := s.r.asked.signal(p, sig, s.until); {
		case err != nil:
		case at > 0: // by another stop: what was started since then may be there to save, too
			s.asked[p.identity()], s.firstToo = true, true
			now = at
		default:
			s.asked[p.identity()] = sig == syscall.SIGTERM
			if !seen {
				s.report.Asked++
			}
		}
	}
	if s.begun == 0 || now < s.begun {
		s.begun = now
	}
	if p.stopped() { // it cannot handle the signal before it continues
		_ = Signal(p, syscall.SIGCONT) // at worst KILL ends it
	}
}

func (s *stop) kill(p Proc) {
	s.watched.kill(p.identity(), true) // before its end can be reported
	switch err := Signal(p, syscall.SIGKILL); {
	case err == nil:
		if !s.killed[p.identity()] {
			s.killed[p.identity()] = true
			s.report.Killed++
		}
	case errors.Is(err, os.ErrProcessDone):
		s.watched.kill(p.identity(), s.killed[p.identity()])
	default:
		s.refused[p.identity()] = err
	}
}

func (s *stop) refusals(alive []Proc) error {
	var errs []error
	for _, p := range alive {
		errs = append(errs, s.refused[p.identity()])
	}
	return errors.Join(errs...)
}

// wait returns after the pause, at until if that is still ahead, or soon after a child was
// collected. It returns an error only if ctx has ended.
func (s *stop) wait(ctx context.Context, woken <-chan struct{}, until time.Time) error {
	pause := max(s.pause, min(rest*s.took, longPause))
	s.pause = min(2*s.pause, lastPause)
	if d := time.Until(until); d > 0 {
		pause = min(pause, d)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-woken:
		timer.Reset(min(max(settle, s.took), pause))
	case <-timer.C:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop processes: %w", ctx.Err())
	}
}
