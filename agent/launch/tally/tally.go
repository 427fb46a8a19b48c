package tally

import (
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// Tally keeps the account of links and sessions for judge and report.
type Tally struct {
	mu       sync.Mutex
	now      func() time.Time
	links    map[string]*linkAccount // by worker
	gaps     []time.Duration
	sessions int
	bad      []verdict.BadSession
	lost     []verdict.Lost
	starved  []string
	leaving  []string // workers whose sessions were ended by a stop from outside
	job      job
	labels   map[string]string                           // of processes that we started, by session
	onDone   func(launch int, rank string, at time.Time) // a rank of that mpirun was the first to end with 0; nil: nobody asks
	onFailed func()                                      // a rank has failed; nil: nobody asks
	before   earlier                                     // of the attempts before
}

// earlier is what attempts that are over leave for the report.
type earlier struct {
	sessions int
	lost     []verdict.Lost
}

type linkAccount struct {
	connected bool
	since     time.Time // when it became so
	dropped   time.Time // when it was lost; zero: never, or on purpose
	redials   int
	ever      bool
}

// New is the tally of a run that has not begun.
func New() *Tally {
	return &Tally{now: time.Now, links: map[string]*linkAccount{}, job: newJob(), labels: map[string]string{}}
}

// Link notes the state of a worker's link. parked: it was closed on purpose,
// which is no gap.
func (t *Tally) Link(worker string, connected, parked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.links[worker]
	if a == nil {
		a = &linkAccount{}
		t.links[worker] = a
	}
	switch {
	case connected && !a.connected && !a.dropped.IsZero():
		a.redials++
		t.gaps = append(t.gaps, t.now().Sub(a.dropped))
		a.dropped = time.Time{}
	case !connected && a.connected && !parked:
		a.dropped = t.now()
	}
	if connected != a.connected {
		a.since = t.now()
	}
	a.connected = connected
	a.ever = a.ever || connected
}

// Opened notes a session that a worker has confirmed.
func (t *Tally) Opened() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions++
}

// SessionCount is how many sessions workers have confirmed in this attempt.
func (t *Tally) SessionCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions
}

// Again begins the account of another attempt; that of links goes on.
func (t *Tally) Again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before.sessions += t.sessions
	t.before.lost = append(t.before.lost, t.lost...)
	t.sessions, t.bad, t.lost, t.starved, t.leaving = 0, nil, nil, nil, nil
	t.job.release()
	t.job = newJob()
}

// Forget ends the account of a link whose worker is no more: what comes in its
// place has lost nothing.
func (t *Tally) Forget(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.links[worker]; a != nil {
		a.connected, a.dropped = false, time.Time{}
	}
}

// Back notes that another worker has come under that name, or the same one again.
func (t *Tally) Back(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := func(name string) bool { return name == worker }
	t.leaving, t.starved = slices.DeleteFunc(t.leaving, same), slices.DeleteFunc(t.starved, same)
}

// Preempt notes a worker whose sessions were ended by a stop from outside.
func (t *Tally) Preempt(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.leaving, worker) {
		t.leaving = append(t.leaving, worker)
	}
}

// Ended notes a session that ended badly without our doing.
func (t *Tally) Ended(b verdict.BadSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bad = append(t.bad, b)
}

// Starve notes a worker where the kernel killed a process for its memory.
func (t *Tally) Starve(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starveLocked(worker)
}

func (t *Tally) starveLocked(worker string) {
	if !slices.Contains(t.starved, worker) {
		t.starved = append(t.starved, worker)
	}
}

// Lose notes a lost worker; false when it was noted before.
func (t *Tally) Lose(l verdict.Lost) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.lost {
		if known.Worker == l.Worker {
			return false
		}
	}
	t.lost = append(t.lost, l)
	return true
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

// Figures are what a tally counts for the report.
type Figures struct {
	Sessions  int // that workers have confirmed, of all attempts
	Lost      []verdict.Lost
	Links     int     // that were ever connected
	LinksHeld int     // that are connected
	Redials   int     // times that links were made again after they had been there
	Redialled int     // links that this happened to
	GapsMS    []int64 // from each loss of a link to its return, in milliseconds
}

// Figures counts.
func (t *Tally) Figures() (f Figures) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.Sessions = t.before.sessions + t.sessions
	f.Lost = slices.Concat(t.before.lost, t.lost)
	for _, a := range t.links {
		f.Redials += a.redials
		if a.redials > 0 {
			f.Redialled++
		}
		if a.connected {
			f.LinksHeld++
		}
		if a.ever {
			f.Links++
		}
	}
	for _, gap := range t.gaps {
		f.GapsMS = append(f.GapsMS, gap.Milliseconds())
	}
	return f
}

// IsLost reports whether a worker was noted as lost in this attempt.
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

// HearDone has f told of the first rank of each mpirun that ends with 0; nil: nobody.
func (t *Tally) HearDone(f func(launch int, rank string, at time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onDone = f
}

// HearFailed has f told of each rank that fails; nil: nobody. f is called with the account
// locked, and must not wait.
func (t *Tally) HearFailed(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onFailed = f
}

// Name notes what a session runs, for LabelOf.
func (t *Tally) Name(session, label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.labels[session] = label
}

// LabelOf returns what Name has noted of a session; "": nothing.
func (t *Tally) LabelOf(session string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.labels[session]
}
