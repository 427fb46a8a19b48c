package link

import (
	"errors"
	"fmt"
	"time"
)

// LostError says that a worker is lost, and its sessions with it.
type LostError struct {
	Worker string
	Kind   Kind
	Err    error
}

func (e *LostError) Error() string { return fmt.Sprintf("worker %s lost: %v", e.Worker, e.Err) }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// errLost ends a dial or a connection of a worker that was given up.
var errLost = errors.New("given up")

// fate records whether the link is over, and why. It is decided once, by the owner or by Run.
type fate struct {
	over chan struct{} // closed when it is decided
	lost *LostError
}

func (f *fate) decide(lost *LostError) {
	if f.lost == nil {
		f.lost = lost
		close(f.over)
	}
}

// refusals records consecutive 401 and 403 answers to dials.
type refusals struct{ first time.Time }

func (r *refusals) note(k Kind) {
	switch {
	case k != Unauthorized && k != Forbidden:
		*r = refusals{}
	case r.first.IsZero():
		r.first = time.Now()
	}
}

// lasted reports whether all answers have been refusals for at least d.
func (r *refusals) lasted(d time.Duration) bool { return !r.first.IsZero() && time.Since(r.first) >= d }

// Lose gives up the worker: its owner knows from the pod's status that it will not come back. Run
// returns a *LostError with err.
func (l *Link) Lose(kind Kind, err error) {
	l.mu.Lock()
	l.fate.decide(&LostError{Worker: l.cfg.Worker, Kind: kind, Err: err})
	c := l.current.get()
	l.mu.Unlock()
	if c != nil {
		c.close(errLost)
	}
}

// judge decides whether err means that the worker is lost.
func (l *Link) judge(err error) *LostError {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := func(k Kind, err error) *LostError { return &LostError{Worker: l.cfg.Worker, Kind: k, Err: err} }
	kind := kindOf(err)
	authLimit := l.cfg.FirstAuth
	if l.standing.phase != fresh {
		authLimit = l.cfg.AuthAfter
	}
	switch {
	case l.fate.lost != nil:
		return l.fate.lost
	case kind.Terminal():
		return lost(kind, err)
	case (kind == Unauthorized || kind == Forbidden) && l.refusals.lasted(authLimit):
		return lost(kind, err)
	case l.standing.lostFor(l.cfg.Lease):
		return lost(Expired, fmt.Errorf("the link was down for the whole lease of %s: %w", l.cfg.Lease, err))
	}
	return nil
}

// finish ends every session with lost and closes the link for good.
func (l *Link) finish(lost *LostError, report bool) {
	l.mu.Lock()
	l.fate.decide(lost)
	l.standing.last = lost
	running := l.work.list()
	l.mu.Unlock()
	for _, s := range running {
		s.fail(lost)
	}
	if report {
		l.report()
	}
}
