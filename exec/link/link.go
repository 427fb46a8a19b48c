package link

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// Config configures a Link. A zero duration means the default in the field's comment.
type Config struct {
	Worker string // the worker's name in messages
	Dialer Dialer
	Gate   *Gate // nil: no limit
	Turns  Turns // limits dials where there is no gate; the time of a dial begins with its turn
	Hello  wire.HelloRecord
	Log    *slog.Logger
	// OnState, if set, is called at every change of State, one call at a time. It must not call
	// back into the Link.
	OnState func(State)
	// OnReport, if set, is called once for each report of the worker, one call at a time. It must
	// not call back into the Link.
	OnReport func(wire.ReportRecord)

	PingEvery   time.Duration // 5 s: time without a byte in either direction
	DeadAfter   time.Duration // 12 s: time without a byte from a worker that was asked for one
	DialTimeout time.Duration // 10 s: from dialing to the worker's WELCOME
	Lease       time.Duration // 15 min: how long the worker waits for us
	ParkAfter   time.Duration // 60 s: time with only detached sessions; negative: never
	ParkLease   time.Duration // the lease while parked: 1 h, or Lease if that is longer
	AuthAfter   time.Duration // 15 s: time with only 401 and 403 answers
	FirstAuth   time.Duration // 60 s: AuthAfter for a worker that was never linked
}

// State is the state of a Link.
type State struct {
	Connected bool
	Parked    bool      // closed on purpose: all sessions are detached
	Since     time.Time // time of the last change of Connected
	Asked     time.Time // while it is down: since when the worker owes an answer to a PING or a dial; zero: it owes none
	Linked    bool      // it was connected at least once
	Redials   int       // number of returns after a loss
	Last      error     // why the last attempt or connection ended
	Sessions  int       // running sessions
	Detached  int       // sessions whose first process ended and whose other processes live on
}

// Link is the launcher's link to one worker.
type Link struct {
	cfg     Config
	wake    chan struct{} // makes a parked link dial
	current current
	running sync.WaitGroup // goroutines of sessions

	// telling is held while the owner learns of a state. It is taken before mu and before any lock of
	// the owner.
	telling sync.Mutex

	mu       sync.Mutex
	standing standing
	heard    heard
	work     work
	farewell farewell
	fate     fate
	refusals refusals
}

// current is the current connection. It is changed with the link's mu held, and read without it.
type current struct {
	conn atomic.Pointer[conn]
	up   chan struct{} // closed while there is a connection; guarded by the link's mu
}

// get returns the connection, or nil if there is none.
func (c *current) get() *conn { return c.conn.Load() }

func (c *current) set(to *conn) {
	c.conn.Store(to)
	close(c.up)
}

func (c *current) clear() {
	c.conn.Store(nil)
	c.up = make(chan struct{})
}

// heard is what the worker has reported about itself.
type heard struct {
	welcome *wire.WelcomeRecord // the latest one; nil before the first
	report  uint64              // number of the last handled report
}

// New returns a Link. Run brings it up.
func New(cfg Config) *Link {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&cfg.PingEvery, 5*time.Second)
	set(&cfg.DeadAfter, 12*time.Second)
	set(&cfg.DialTimeout, 10*time.Second)
	set(&cfg.Lease, 15*time.Minute)
	set(&cfg.ParkAfter, time.Minute)
	set(&cfg.ParkLease, max(time.Hour, cfg.Lease))
	set(&cfg.AuthAfter, 15*time.Second)
	set(&cfg.FirstAuth, time.Minute)
	cfg.Hello.ProtoMin, cfg.Hello.ProtoMax = wire.ProtoMin, wire.ProtoMax
	cfg.Hello.Reports = cfg.OnReport != nil
	cfg.Hello.LeaseSeconds = int((cfg.Lease + time.Second - 1) / time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Link{
		cfg:      cfg,
		wake:     make(chan struct{}, 1),
		current:  current{up: make(chan struct{})},
		standing: standing{since: time.Now()},
		work:     work{sessions: map[uint32]*Session{}},
		farewell: farewell{confirmed: make(chan struct{})},
		fate:     fate{over: make(chan struct{})},
	}
}

// Run keeps the link up. It returns nil when ctx ends or the worker has confirmed End. It returns a
// *LostError when the worker is lost, and then every session has ended with that error. Run waits
// for the goroutines of all sessions, so a session that blocks on writing to a user's descriptor
// delays it.
func (l *Link) Run(ctx context.Context) error {
	defer l.running.Wait()
	retry := probeBackoff()
	for {
		linked := false
		err := l.attempt(ctx, func() { linked = true; retry.Reset() })
		if ctx.Err() != nil {
			l.finish(&LostError{Worker: l.cfg.Worker, Kind: Dropped, Err: context.Cause(ctx)}, false)
			return nil
		}
		if l.hasEnded() {
			l.finish(&LostError{Worker: l.cfg.Worker, Kind: Ending, Err: errors.New("the job is over")}, false)
			return nil
		}
		if lost := l.judge(err); lost != nil {
			l.finish(lost, true)
			return lost
		}
		delay := retry.NextBackOff()
		if linked && kindOf(err) == Dropped {
			delay = l.afterDrop()
		}
		l.pause(ctx, err, delay)
	}
}

// afterDrop returns the pause before the redial of a connection that had been up. There is none,
// except for a connection that ended almost at once, so that two links that take the worker from
// each other do not spin.
func (l *Link) afterDrop() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.standing.lasted > 250*time.Millisecond {
		return 0
	}
	return 20 * time.Millisecond
}

// pause waits before the next attempt. A parked link waits for work.
func (l *Link) pause(ctx context.Context, cause error, delay time.Duration) {
	parked := errors.Is(cause, errParked)
	var wake chan struct{}
	switch {
	case parked:
		// PARK is lost if the connection was half-open. The worker then has the lease of HELLO.
		delay, wake = min(l.cfg.ParkLease/6, 2*l.cfg.Lease/3), l.wake
	case delay == 0, kindOf(cause) == Unreachable && l.cfg.Gate != nil: // the gate limits these
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		if parked {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.standing.transition(renewing, time.Now())
		}
	case <-wake:
	case <-l.fate.over:
	case <-ctx.Done():
	}
}

// Welcome returns what the worker reported about itself, once it has been linked.
func (l *Link) Welcome() (wire.WelcomeRecord, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard.welcome == nil {
		return wire.WelcomeRecord{}, false
	}
	return *l.heard.welcome, true
}

// State returns the current state of the link.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := &l.standing
	return State{
		Connected: st.phase == up, Parked: st.parked(), Since: st.since, Asked: st.asked, Linked: st.phase != fresh,
		Redials: st.redials, Last: st.last,
		Sessions: len(l.work.sessions), Detached: l.work.detached,
	}
}

// report tells the owner the current state. Run and the ends of sessions call it, so the lock keeps
// an older state from being told after a newer one. The caller holds no lock.
func (l *Link) report() {
	if l.cfg.OnState == nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	l.cfg.OnState(l.State())
}
