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

// Pauses between two scans while a stop waits. A collected child ends a pause
// early, but not below settle: a thousand ranks end in one burst.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 100 * time.Millisecond
	settle     = 2 * time.Millisecond
)

// So many scans in a row must find nothing alive, and be quiet: one whose process has
// ended during the scan may have been its parent's last word, after a fork. Where
// processes of others end all the time no scan is quiet, and atMost scans are enough.
const (
	enough = 2
	atMost = 12
)

// Report counts what a stop did.
type Report struct {
	Found  int // processes that were alive at some scan
	Asked  int // of these, sent TERM, or what Drain was told to send
	Killed int // of these, sent KILL
	Left   int // alive at the last scan
	Scans  int
	Ranks  []Outcome // of the ranks, which Drain asked first
	Others int       // ranks that live when Ask returns
}

// Stop ends the processes that find returns, newly found ones too: TERM (then
// CONT for those that are stopped), up to grace for them to end, KILL, until
// two scans in a row find nothing alive. Processes that were started since the first
// TERM get theirs in the last fifth of grace, at most 5 s before its end. The
// error joins the reasons why processes could not be signalled (another user's), or is ctx's, in which case
// processes may live; or find's. A process in uninterruptible sleep survives
// KILL: give ctx a deadline.
func (r *Reaper) Stop(ctx context.Context, find func() ([]Proc, error), grace time.Duration) (Report, error) {
	s := newStop(r, find, grace)
	err := s.finish(ctx, time.Now().Add(grace))
	return s.report, err
}

// Drain is Stop with an order: the ranks of the first scan (Ranks) are asked alone, and
// with sig: a program may be made to be stopped by INT or QUIT. All others are
// asked when these have ended, or in the last part of grace (LastPart), helpers before
// launchers: torchrun and MPI daemons that are asked earlier kill what still saves. If sig is not
// TERM, all are asked with TERM after half of grace, ranks that ignored sig too.
func (r *Reaper) Drain(ctx context.Context, find func() ([]Proc, error), sig syscall.Signal, grace time.Duration) (Report, error) {
	return r.DrainTelling(ctx, find, sig, grace, nil, func([]Outcome) {})
}

// DrainTelling is Drain, and calls tell each time that the outcome of a rank has changed, with
// those of all: what ends with the last of them is told before. Those of before have had their TERM
// and get none: a rank that saves would begin again.
func (r *Reaper) DrainTelling(ctx context.Context, find func() ([]Proc, error), sig syscall.Signal, grace time.Duration, before []Proc, tell func([]Outcome)) (Report, error) {
	s := newStop(r, find, grace)
	s.askedBefore(before)
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
	if err != nil { // a rank may have ended since the last look
		_, _ = s.scan()
	}
	s.report.Ranks = s.watched.all
	return s.report, err
}

// alone is for how long a Drain asks the ranks alone. Ranks that ignore another signal than TERM
// get TERM in time to save.
func alone(sig syscall.Signal, grace time.Duration) time.Duration {
	if sig != syscall.SIGTERM {
		return grace / 2
	}
	return grace - LastPart(grace)
}

// Rest is Stop for what a process that has ended leaves behind. If since is not zero, processes that
// were started later get their TERM in the last fifth of grace: the process may have
// started them to save its work.
func (r *Reaper) Rest(ctx context.Context, find func() ([]Proc, error), since time.Time, grace time.Duration) (Report, error) {
	s := newStop(r, find, grace)
	if !since.IsZero() {
		s.begun, s.anew = ticksAt(since), true
	}
	err := s.finish(ctx, time.Now().Add(grace))
	return s.report, err
}

type stop struct {
	r       *Reaper
	find    func() ([]Proc, error)
	asked   map[identity]bool // whether with TERM
	killed  map[identity]bool
	found   map[identity]bool
	present map[identity]bool  // found by the first scan
	refused map[identity]error // KILL was not allowed: waiting for it is vain
	report  Report
	pause   time.Duration
	begun   uint64    // when the first process was asked, as in Proc.Start; 0: none was
	anew    bool      // processes of the first scan may have been started since, too
	sparing time.Time // until then nobody is asked who was started since
	ordered bool      // launchers are asked after helpers
	alone   time.Time // since when only launchers that were asked are left; zero: others are
	watched watched
}

// LastPart is how long before the end of a grace the processes are asked that were
// started since the stop began: a fifth of it, and 5 s at most.
func LastPart(grace time.Duration) time.Duration { return min(grace/5, longestLast) }

// longestLast is enough for helpers and launchers to end, and leaves a rank that needs its
// helpers 50 s of the 55 s that a pod with a period of 60 s has.
const longestLast = 5 * time.Second

func newStop(r *Reaper, find func() ([]Proc, error), grace time.Duration) *stop {
	return &stop{r: r, find: find, pause: firstPause, sparing: time.Now().Add(grace - LastPart(grace)), asked: map[identity]bool{},
		killed: map[identity]bool{}, found: map[identity]bool{}, present: map[identity]bool{}, refused: map[identity]error{}}
}

// ranks asks those of the present processes with sig that choose returns, and waits for
// these alone.
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

// finish asks everybody, and from the deadline on kills everybody.
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
	procs, err := s.find()
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

// spared reports whether p was started since the stop began: a rank may have started
// it to save its work.
func (s *stop) spared(p Proc) bool {
	return s.begun > 0 && p.Start >= s.begun && (s.anew || !s.present[p.identity()]) && time.Now().Before(s.sparing)
}

// askedBefore takes down that another stop has asked them with TERM.
func (s *stop) askedBefore(all []Proc) {
	for _, p := range all {
		s.asked[p.identity()] = true
	}
}

func (s *stop) ask(p Proc) { s.askWith(p, syscall.SIGTERM) }

func (s *stop) askWith(p Proc, sig syscall.Signal) {
	if s.begun == 0 {
		s.begun = ticksAt(time.Now())
	}
	term, seen := s.asked[p.identity()]
	if !term && Signal(p, sig) == nil {
		s.asked[p.identity()] = sig == syscall.SIGTERM
		if !seen {
			s.report.Asked++
		}
	}
	if p.stopped() { // it cannot handle the signal before it continues
		_ = Signal(p, syscall.SIGCONT) // at worst KILL ends it
	}
}

func (s *stop) kill(p Proc) {
	s.watched.kill(p.identity(), true) // before its end can be told
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

// wait returns after the pause, at until if that is still ahead, or soon after
// a child was collected. It returns an error only when ctx has ended.
func (s *stop) wait(ctx context.Context, woken <-chan struct{}, until time.Time) error {
	pause := s.pause
	s.pause = min(2*s.pause, lastPause)
	if d := time.Until(until); d > 0 {
		pause = min(pause, d)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-woken:
		timer.Reset(min(settle, pause))
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
