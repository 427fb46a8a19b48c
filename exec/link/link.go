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

// Config of a Link; zero durations take the defaults named.
type Config struct {
	Worker string // the worker's name in messages
	Dialer Dialer
	Gate   *Gate // nil: dial without asking
	Hello  wire.HelloRecord
	Log    *slog.Logger
	// OnState, if set, is called at every change of State, one call at a time.
	// It must not call back into the Link.
	OnState func(State)
	// OnReport, if set, is called once for each report of the worker's, one call
	// at a time. It must not call back into the Link.
	OnReport func(wire.ReportRecord)

	PingEvery   time.Duration // 5 s: without a byte either way
	DeadAfter   time.Duration // 12 s: without a byte from the worker
	DialTimeout time.Duration // 10 s: from dialling to the worker's welcome
	Lease       time.Duration // 15 min: how long the worker waits for us
	ParkAfter   time.Duration // 60 s: with detached sessions only; negative: never
	ParkLease   time.Duration // the lease while parked: 1 h, or Lease if it is longer
	AuthAfter   time.Duration // 15 s: of nothing but 401 and 403
	FirstAuth   time.Duration // 60 s: the same for a worker never linked
}

// State of a Link.
type State struct {
	Connected  bool
	Parked     bool      // closed on purpose: sessions all detached, or to be dialled by another way
	Since      time.Time // of the last change of Connected
	Linked     bool      // it was connected at least once
	Redials    int       // times it came back after a loss
	LongestGap time.Duration
	Last       error // why the last attempt or connection ended
	Sessions   int   // running
	Detached   int   // ended with members that live on
}

// Link is the launcher's link to one worker.
type Link struct {
	cfg     Config
	wake    chan struct{} // a parked link has work
	current current
	running sync.WaitGroup // goroutines of sessions

	mu       sync.Mutex
	standing standing
	heard    heard
	work     work
	farewell farewell
	fate     fate
	refusals refusals
}

// current is the present connection. It is changed with the link's mu held, and read
// without it.
type current struct {
	conn atomic.Pointer[conn]
	up   chan struct{} // closed while there is a connection; under the link's mu
}

// get returns the connection, nil while there is none.
func (c *current) get() *conn { return c.conn.Load() }

func (c *current) set(to *conn) {
	c.conn.Store(to)
	close(c.up)
}

func (c *current) clear() {
	c.conn.Store(nil)
	c.up = make(chan struct{})
}

// heard is what the worker has said of itself.
type heard struct {
	welcome *wire.WelcomeRecord // the last one; nil before the first
	report  uint64              // number of the last report taken
}

// New returns a Link; Run brings it up.
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

// Run keeps the link up. It returns nil when ctx ends or the worker has
// confirmed End, and a *LostError when the worker is lost; then every session
// has ended with that error. Run waits for the goroutines of all sessions; one
// that is blocked writing to a descriptor of the user's holds it up.
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

// afterDrop is the pause before a connection that was there is dialled again:
// none, but for one that ended almost at once, lest two links that take the
// worker from each other spin.
func (l *Link) afterDrop() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.standing.lasted > 250*time.Millisecond {
		return 0
	}
	return 20 * time.Millisecond
}

// pause waits before the next attempt; a parked link waits for work.
func (l *Link) pause(ctx context.Context, cause error, delay time.Duration) {
	parked := errors.Is(cause, errParked)
	var wake chan struct{}
	switch {
	case parked:
		delay, wake = l.cfg.ParkLease/6, l.wake
	case kindOf(cause) == Unreachable && l.cfg.Gate != nil:
		return // the gate paces these
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

// Welcome is what the worker said of itself, once it has been linked.
func (l *Link) Welcome() (wire.WelcomeRecord, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard.welcome == nil {
		return wire.WelcomeRecord{}, false
	}
	return *l.heard.welcome, true
}

// State is the link's present state.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := &l.standing
	return State{
		Connected: st.phase == up, Parked: st.parked(), Since: st.since, Linked: st.phase != fresh,
		Redials: st.redials, LongestGap: st.longestGap, Last: st.last,
		Sessions: len(l.work.sessions), Detached: l.work.detached,
	}
}

// report tells the owner of the present state.
func (l *Link) report() {
	if l.cfg.OnState != nil {
		l.cfg.OnState(l.State())
	}
}
