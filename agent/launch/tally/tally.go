package tally

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// Tally records links and sessions for the verdict and the report.
type Tally struct {
	mu       sync.Mutex
	now      func() time.Time
	links    map[string]*linkAccount // by worker
	sessions int
	bad      []verdict.BadSession
	lost     []verdict.Lost
	starved  []string
	leaving  []string // workers whose sessions were ended by a stop from outside
	job      job
	labels   map[string]string                           // of processes that Muster started, by session; those of this attempt
	older    map[string]string                           // the same of the attempt before, for late reports
	onDone   func(launch int, rank string, at time.Time) // called when the first rank of an mpirun ends with 0; may be nil
	onFailed func()                                      // called when a rank fails; may be nil
	// onStarved is called for the first memory kill on a worker in an attempt; may be nil.
	onStarved func(worker string, at time.Time)
	before    earlier // from earlier attempts
}

// earlier is what finished attempts leave for the report.
type earlier struct {
	sessions int
	lost     []verdict.Lost
}

type linkAccount struct {
	connected bool
	since     time.Time // when connected last changed
}

// New returns the tally of a run that has not begun.
func New() *Tally {
	return &Tally{now: time.Now, links: map[string]*linkAccount{}, job: newJob(), labels: map[string]string{}}
}

// Link records the state of a worker's link.
func (t *Tally) Link(worker string, connected bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.links[worker]
	if a == nil {
		a = &linkAccount{}
		t.links[worker] = a
	}
	if connected != a.connected {
		a.since = t.now()
	}
	a.connected = connected
}

// Opened records a session that a worker has confirmed.
func (t *Tally) Opened() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions++
}

// SessionCount returns how many sessions workers have confirmed in this attempt.
func (t *Tally) SessionCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions
}

// Again starts the account of another attempt. The account of links continues.
func (t *Tally) Again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before.sessions += t.sessions
	t.before.lost = append(t.before.lost, t.lost...)
	t.sessions, t.bad, t.lost, t.starved, t.leaving = 0, nil, nil, nil, nil
	t.labels, t.older = map[string]string{}, t.labels
	t.job.release()
	t.job = newJob()
}

// Forget ends the account of a link whose worker is lost.
func (t *Tally) Forget(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.links[worker]; a != nil {
		a.connected = false
	}
}

// Back records that a worker with this name is there again, whether a new one or the same.
func (t *Tally) Back(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := func(name string) bool { return name == worker }
	t.leaving, t.starved = slices.DeleteFunc(t.leaving, same), slices.DeleteFunc(t.starved, same)
}

// Preempt records a worker whose sessions were ended by a stop from outside.
func (t *Tally) Preempt(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.leaving, worker) {
		t.leaving = append(t.leaving, worker)
	}
}

// Ended records a session that ended badly by itself.
func (t *Tally) Ended(b verdict.BadSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bad = append(t.bad, b)
}

// Starve records a worker where the kernel killed a process for lack of memory (OOM).
func (t *Tally) Starve(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starveLocked(worker, t.now())
}

// starveLocked records such a worker. at is when PID 1 noticed the kill. The caller holds t.mu.
func (t *Tally) starveLocked(worker string, at time.Time) {
	if slices.Contains(t.starved, worker) {
		return
	}
	t.starved = append(t.starved, worker)
	if t.onStarved != nil {
		t.onStarved(worker, at)
	}
}

// HearStarved sets f to be called for the first memory kill on a worker in an attempt. f is called
// with t.mu held, and must not block.
func (t *Tally) HearStarved(f func(worker string, at time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onStarved = f
}

// Lose records a lost worker. It returns how many workers this attempt has lost with it, or 0 if the
// worker was recorded before.
func (t *Tally) Lose(l verdict.Lost) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.lost {
		if known.Worker == l.Worker {
			return 0
		}
	}
	t.lost = append(t.lost, l)
	return len(t.lost)
}

// Testify adds what is known to the evidence.
func (t *Tally) Testify(e *verdict.Evidence) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Opened = t.sessions
	e.Lost = append([]verdict.Lost(nil), t.lost...)
	e.Bad = append([]verdict.BadSession(nil), t.bad...)
	e.Starved, e.Leaving = slices.Clone(t.starved), slices.Clone(t.leaving)
	e.Launches, e.Starters, e.Unseen = t.job.ends(), t.job.starterEnds(), t.job.unseen()
	e.Quiet = t.job.quiet()
	e.Troubles, e.Ranks, e.Cut = slices.Clone(t.job.troubles), slices.Clone(t.job.ranks), t.job.cut()
}

// Figures are the numbers for the report.
type Figures struct {
	Sessions  int // sessions that workers have confirmed, in all attempts
	Lost      []verdict.Lost
	LinksHeld int // links that are connected
}

// Figures returns the numbers for the report.
func (t *Tally) Figures() (f Figures) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.Sessions = t.before.sessions + t.sessions
	f.Lost = slices.Concat(t.before.lost, t.lost)
	for _, a := range t.links {
		if a.connected {
			f.LinksHeld++
		}
	}
	return f
}

// IsLost reports whether a worker was recorded as lost in this attempt.
func (t *Tally) IsLost(worker string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lost {
		if l.Worker == worker {
			return true
		}
	}
	return false
}

// IsLeaving reports whether a worker was told to stop from outside.
func (t *Tally) IsLeaving(worker string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.leaving, worker)
}

// AnyLost reports whether a worker was lost in this attempt.
func (t *Tally) AnyLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.lost) > 0
}

// HearDone sets f to be called for the first rank of each mpirun that ends with 0. nil removes it.
func (t *Tally) HearDone(f func(launch int, rank string, at time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onDone = f
}

// HearFailed sets f to be called for each rank that fails. nil removes it. f is called with t.mu
// held, and must not block.
func (t *Tally) HearFailed(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onFailed = f
}

// Name records what a session runs, for LabelOf.
func (t *Tally) Name(session, label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.labels[session] = label
}

// LabelOf returns the label that Name recorded for a session of this attempt or the one before, or "".
func (t *Tally) LabelOf(session string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.labels[session], t.older[session])
}
