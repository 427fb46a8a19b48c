package link

import (
	"context"
	"errors"
	"fmt"
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

// LostError says that a worker is lost, and its sessions with it.
type LostError struct {
	Worker string
	Kind   Kind
	Err    error
}

func (e *LostError) Error() string { return fmt.Sprintf("worker %s lost: %v", e.Worker, e.Err) }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// Link is the launcher's link to one worker.
type Link struct {
	cfg  Config
	wake chan struct{} // a parked link has work
	over chan struct{} // closed when lost or ended

	current atomic.Pointer[conn] // conn, readable without mu

	mu       sync.Mutex
	conn     *conn
	up       chan struct{} // closed while there is a conn
	welcome  *wire.WelcomeRecord
	sessions map[uint32]*Session
	next     uint32
	state    State
	upAt     time.Time
	downAt   time.Time
	authAt   time.Time // of the first of the last refusals in a row
	active   time.Time // when the last running session ended, or somebody wanted the link
	renewing bool      // nobody does: this dial is for the lease of a parked link
	lost     *LostError
	end      *wire.EndRecord
	ended    chan struct{}  // closed when the worker has confirmed end
	kept     bool           // it has, and takes new sessions
	gone     bool           // it has, and has exited
	reported uint64         // number of the last report taken
	wg       sync.WaitGroup // goroutines of sessions
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
		cfg: cfg, wake: make(chan struct{}, 1), over: make(chan struct{}), ended: make(chan struct{}), up: make(chan struct{}),
		sessions: map[uint32]*Session{}, state: State{Since: time.Now()},
	}
}

// Run keeps the link up. It returns nil when ctx ends or the worker has
// confirmed End, and a *LostError when the worker is lost; then every session
// has ended with that error. Run waits for the goroutines of all sessions; one
// that is blocked writing to a descriptor of the user's holds it up.
func (l *Link) Run(ctx context.Context) error {
	defer l.wg.Wait()
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
	if l.downAt.Sub(l.upAt) > 250*time.Millisecond {
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
	renewing := false
	select {
	case <-timer.C:
		renewing = parked
	case <-wake:
	case <-l.over:
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.renewing = renewing
	l.mu.Unlock()
}

// settle forgets who has roused the link while it was up: all that was done. What has
// come since it was decided to park is not. Called with l.mu held.
func (l *Link) settle() {
	select {
	case <-l.wake:
	default:
	}
	if len(l.sessions) > 0 || l.end != nil {
		l.rouse()
	}
}

// Welcome is what the worker said of itself, once it has been linked.
func (l *Link) Welcome() (wire.WelcomeRecord, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.welcome == nil {
		return wire.WelcomeRecord{}, false
	}
	return *l.welcome, true
}

// State is the link's present state.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Lose gives the worker up: its owner knows, from the pod's status, that it
// will not come back. Run returns a *LostError with err.
func (l *Link) Lose(kind Kind, err error) {
	l.mu.Lock()
	if l.lost == nil {
		l.lost = &LostError{Worker: l.cfg.Worker, Kind: kind, Err: err}
		close(l.over)
	}
	c := l.conn
	l.mu.Unlock()
	if c != nil {
		c.close(errLost)
	}
}

// End tells the worker that the job is over: it stops everything, within grace
// by TERM and then by KILL, and PID 1 exits 0 unless keep is set. It returns
// when the worker has confirmed, when it is lost (nil: nothing of it is left
// that could be told), or ctx's error. Run must be running.
func (l *Link) End(ctx context.Context, keep bool, grace time.Duration) error {
	rec := wire.EndRecord{Keep: keep, GraceMillis: grace.Milliseconds()}
	l.mu.Lock()
	l.end = &rec
	if l.kept {
		l.kept, l.ended = false, make(chan struct{})
	}
	ended := l.ended
	if l.conn != nil {
		l.conn.record(wire.End, 0, rec)
	}
	l.mu.Unlock()
	l.rouse()
	select {
	case <-ended:
		return nil
	case <-l.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end the job on %s: %w", l.cfg.Worker, context.Cause(ctx))
	}
}

func (l *Link) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

// Wake lets a parked link dial now, in place of waiting for work: its owner
// doubts that the worker is still there. Once a dial has failed the link counts
// as down since then (State.Parked is false), and its lease runs.
func (l *Link) Wake() { l.rouse() }

// rouse lets a parked link dial.
func (l *Link) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// finish ends every session with lost and closes the link for good.
func (l *Link) finish(lost *LostError, report bool) {
	l.mu.Lock()
	if l.lost == nil {
		l.lost = lost
		close(l.over)
	}
	l.state.Connected, l.state.Last = false, lost
	sessions := make([]*Session, 0, len(l.sessions))
	for _, s := range l.sessions {
		sessions = append(sessions, s)
	}
	l.mu.Unlock()
	for _, s := range sessions {
		s.fail(lost)
	}
	if report {
		l.report()
	}
}

// report tells the owner of the present state.
func (l *Link) report() {
	if l.cfg.OnState != nil {
		l.cfg.OnState(l.State())
	}
}
