package launch

import (
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// tally keeps the account of links and sessions for judge and report.
type tally struct {
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

func newTally() *tally {
	return &tally{now: time.Now, links: map[string]*linkAccount{}, job: newJob(), labels: map[string]string{}}
}

// link notes the state of a worker's link. parked: it was closed on purpose,
// which is no gap.
func (t *tally) link(worker string, connected, parked bool) {
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

// opened notes a session that a worker has confirmed.
func (t *tally) opened() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions++
}

// sessionCount is how many sessions workers have confirmed in this attempt.
func (t *tally) sessionCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions
}

// again begins the account of another attempt; that of links goes on.
func (t *tally) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before.sessions += t.sessions
	t.before.lost = append(t.before.lost, t.lost...)
	t.sessions, t.bad, t.lost, t.starved, t.leaving = 0, nil, nil, nil, nil
	t.job.release()
	t.job = newJob()
}

// forget ends the account of a link whose worker is no more: what comes in its
// place has lost nothing.
func (t *tally) forget(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.links[worker]; a != nil {
		a.connected, a.dropped = false, time.Time{}
	}
}

// back: another worker has come under that name, or the same one again.
func (t *tally) back(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := func(name string) bool { return name == worker }
	t.leaving, t.starved = slices.DeleteFunc(t.leaving, same), slices.DeleteFunc(t.starved, same)
}

// preempt notes a worker whose sessions were ended by a stop from outside.
func (t *tally) preempt(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.leaving, worker) {
		t.leaving = append(t.leaving, worker)
	}
}

// ended notes a session that ended badly without our doing.
func (t *tally) ended(b verdict.BadSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bad = append(t.bad, b)
}

// starve notes a worker where the kernel killed a process for its memory.
func (t *tally) starve(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starveLocked(worker)
}

func (t *tally) starveLocked(worker string) {
	if !slices.Contains(t.starved, worker) {
		t.starved = append(t.starved, worker)
	}
}

// lose notes a lost worker; false when it was noted before.
func (t *tally) lose(l verdict.Lost) bool {
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

// testify adds what is known to the evidence.
func (t *tally) testify(e *verdict.Evidence) {
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

// fill adds the figures to a report.
func (t *tally) fill(r *Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Sessions = t.before.sessions + t.sessions
	r.Lost = slices.Concat(t.before.lost, t.lost)
	r.Redials, r.Redialled, r.Links, r.LinksHeld, r.GapsMS = 0, 0, 0, 0, nil
	for _, a := range t.links {
		r.Redials += a.redials
		if a.redials > 0 {
			r.Redialled++
		}
		if a.connected {
			r.LinksHeld++
		}
		if a.ever {
			r.Links++
		}
	}
	for _, gap := range t.gaps {
		r.GapsMS = append(r.GapsMS, gap.Milliseconds())
	}
}

func (t *tally) isLost(worker string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lost {
		if l.Worker == worker {
			return true
		}
	}
	return false
}

func (t *tally) isLeaving(worker string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.leaving, worker)
}

func (t *tally) anyLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.lost) > 0
}

// hearDone has f told of the first rank of each mpirun that ends with 0; nil: nobody.
func (t *tally) hearDone(f func(launch int, rank string, at time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onDone = f
}

// hearFailed has f told of each rank that fails; nil: nobody. f is called with the account
// locked, and must not wait.
func (t *tally) hearFailed(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onFailed = f
}
