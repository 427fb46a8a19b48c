//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// Dialers dial workers: pods through the API server, or processes on this machine.
type Dialers interface {
	// Dialer returns what dials one worker.
	Dialer(w rendezvous.Worker) link.Dialer
}

// Account records the state of links, and what workers report over them.
type Account interface {
	// Link records the state of a worker's link.
	Link(worker string, connected bool)
	// Forget ends the account of a link whose worker is lost.
	Forget(worker string)
	// Report records what PID 1 of a worker saw.
	Report(worker string, rec wire.ReportRecord)
	// LabelOf returns what a session runs; "" if it is unknown.
	LabelOf(session string) string
}

// Links keeps one link per worker, from the moment its container runs.
type Links struct {
	ways    Dialers
	gate    *link.Gate // nil: no API server to protect
	turns   link.Turns // without a gate
	hello   wire.HelloRecord
	lease   time.Duration
	log     *slog.Logger
	account Account
	Voice   *console.Voice // nil: print nothing
	Record  *record.Log    // nil: record nothing

	Changed chan struct{} // has a token when the state of a link has changed
	whole   chan struct{} // has a token when the last of the existing links has come up
	wg      sync.WaitGroup
	Stops   atomic.Uint64 // numbers the stops of ranks alone, for the workers

	mu      sync.Mutex
	held    map[string]*held // by worker name
	up      int              // number of connected workers
	leaving *GoingDown       // the first worker that reported its stop, until it is taken; nil: none
	seated  map[string]bool  // workers of a run with spares that take part; nil: all
	ending  bool             // the run ends, so that links do
	output  uint64           // bytes of output of links that were removed
}

// held is one worker and its link.
type held struct {
	worker rendezvous.Worker
	link   *link.Link
	stop   context.CancelFunc
	done   chan struct{}
	state  link.State
	err    error // a *link.LostError: the link is over
	cut    bool  // its loss was recorded
}

// mostDials is how many workers are dialed at once where no gate decides.
const mostDials = 128

// NewLinks returns Links without any link. gate protects an API server; nil means that there is
// none. hello is the first message to each worker.
func NewLinks(ways Dialers, gate *link.Gate, hello wire.HelloRecord, lease time.Duration, log *slog.Logger, a Account) *Links {
	var turns link.Turns
	if gate == nil {
		turns = link.NewTurns(mostDials)
	}
	return &Links{ways: ways, gate: gate, turns: turns, hello: hello, lease: lease, log: log, account: a,
		Changed: make(chan struct{}, 1), whole: make(chan struct{}, 1), held: map[string]*held{}}
}

// errReplaced is why the link of a worker ends that another one follows.
var errReplaced = errors.New("its pod or its container was replaced")

// Follow opens the link of w unless it exists. A new pod with the same name, or a restarted
// container, gets a new link.
func (l *Links) Follow(ctx context.Context, w rendezvous.Worker) {
	l.mu.Lock()
	m := l.held[w.Name]
	if m != nil && m.worker.UID == w.UID && m.worker.ContainerID == w.ContainerID {
		l.mu.Unlock()
		return
	}
	if m != nil {
		l.remove(m)
		l.account.Forget(w.Name)
	}
	l.open(ctx, w)
	l.mu.Unlock()
	if m != nil {
		m.link.Lose(link.Gone, errReplaced) // without the lock: it closes a connection
	}
}

// remove removes a worker, and forgets that it is going down. The caller holds mu.
func (l *Links) remove(m *held) {
	delete(l.held, m.worker.Name)
	if l.leaving != nil && l.leaving.Worker == m.worker.Name {
		l.leaving = nil
	}
	received, _ := m.link.Output()
	l.output += received
	if m.state.Connected {
		l.up--
	}
}

// open opens a link. The caller holds mu. It is separate from Follow so that Follow allocates
// nothing if the link exists.
func (l *Links) open(ctx context.Context, w rendezvous.Worker) {
	name := w.Name // see Network.Dialer
	l.add(ctx, w, func(note func(link.State)) *link.Link {
		return link.New(link.Config{
			Worker: name, Dialer: l.ways.Dialer(w), Gate: l.gate, Turns: l.turns, Hello: l.helloTo(w), Lease: l.lease,
			PingEvery: pingEvery(l.lease), ParkAfter: l.parkAfter(),
			Log:      l.log,
			OnState:  note,
			OnReport: func(rec wire.ReportRecord) { l.reported(name, rec) },
		})
	})
}

// Keep adds a link to w that the caller makes with open. The link must report its states to note.
func (l *Links) Keep(ctx context.Context, w rendezvous.Worker, open func(note func(link.State)) *link.Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(ctx, w, open)
}

// add is Keep; the caller holds mu.
func (l *Links) add(ctx context.Context, w rendezvous.Worker, open func(note func(link.State)) *link.Link) {
	ctx, stop := context.WithCancel(ctx)
	m := &held{worker: w, stop: stop, done: make(chan struct{})}
	m.link = open(func(s link.State) { l.note(m, s) })
	l.held[w.Name] = m
	l.run(ctx, m)
}

// helloTo returns the hello for w, with the grace of its pod, which limits that of the run. The
// initial workers are known to have enough.
func (l *Links) helloTo(w rendezvous.Worker) wire.HelloRecord {
	h := l.hello
	h.PodGraceMillis = w.Grace.Milliseconds()
	if w.Grace > 0 && h.GraceMillis > h.PodGraceMillis {
		h.GraceMillis = names.Grace(w.Grace).Milliseconds()
	}
	return h
}

// run keeps m's link up until ctx ends or the worker is lost.
func (l *Links) run(ctx context.Context, m *held) {
	l.wg.Go(func() {
		defer close(m.done)
		defer m.stop()
		err := m.link.Run(ctx)
		l.mu.Lock()
		m.err = err
		l.mu.Unlock()
		l.Nudge()
	})
}

// parkAfter returns how long an idle link stays open; 0 means the default. Without an API server
// there is nothing to protect, so links are never parked. An open link also tells a fake worker at
// once that its launcher was killed.
func (l *Links) parkAfter() time.Duration {
	if l.gate == nil {
		return -1
	}
	return 0
}

// pingEvery returns the interval of pings, which keeps idle links within even the shortest lease.
// Every byte from the launcher renews the lease.
func pingEvery(lease time.Duration) time.Duration { return min(5*time.Second, lease/4) }

func (l *Links) note(m *held, s link.State) {
	l.mu.Lock()
	current := l.held[m.worker.Name] == m
	if current && s.Connected != m.state.Connected {
		if s.Connected {
			l.up++
		} else {
			l.up--
		}
		l.recordChange(m, s)
	}
	m.state = s
	whole := current && l.up == len(l.held)
	l.mu.Unlock()
	if current {
		l.account.Link(m.worker.Name, s.Connected)
	}
	l.Nudge()
	if whole {
		wait.Token(l.whole)
	}
}

// Nudge wakes the reader of Changed.
func (l *Links) Nudge() { wait.Token(l.Changed) }

// Standing is a copy of what is known about one worker's link.
type Standing struct {
	Worker rendezvous.Worker
	Link   *link.Link
	State  link.State
	Err    error
}

// LinkOf returns the current link of a worker, or nil.
func (l *Links) LinkOf(worker string) *link.Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.held[worker]; m != nil {
		return m.link
	}
	return nil
}

// Standings returns a copy for each worker, by name.
func (l *Links) Standings() map[string]Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]Standing, len(l.held))
	for name, m := range l.held {
		all[name] = Standing{m.worker, m.link, m.state, m.err}
	}
	return all
}

// Alive asks all workers of the run at once for a sign of life. It reports whether all of them answered before
// ctx ended. It wakes a parked link, which cannot answer yet. If a worker has no link, Alive asks none: callers
// repeat it when links change, and thousands of workers would answer each time.
func (l *Links) Alive(ctx context.Context) bool {
	var silent atomic.Bool
	working := l.Working()
	for _, s := range working {
		if s.State.Parked {
			s.Link.Wake()
		}
		if !s.State.Connected {
			silent.Store(true)
		}
	}
	if silent.Load() {
		return false
	}
	var asked sync.WaitGroup
	for _, s := range working {
		asked.Go(func() {
			if !s.Link.Prove(ctx) {
				silent.Store(true)
			}
		})
	}
	asked.Wait()
	return !silent.Load()
}

// Heard waits until every connected worker of the run has given a sign of life, and thereby sent its pending
// reports, or until ctx ends.
func (l *Links) Heard(ctx context.Context) {
	var asked sync.WaitGroup
	for _, s := range l.Working() {
		if s.State.Connected {
			asked.Go(func() { s.Link.Prove(ctx) })
		}
	}
	asked.Wait()
}

// Lose marks a worker as lost because of the pod watch.
func (l *Links) Lose(worker string, cause error) {
	l.mu.Lock()
	m := l.held[worker]
	l.mu.Unlock()
	if m != nil {
		m.link.Lose(link.Gone, cause)
	}
}

// Forget closes the links of these workers for good. Follow then opens new links to their
// replacements.
func (l *Links) Forget(workers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range workers {
		if m := l.held[name]; m != nil {
			m.stop()
			l.remove(m)
			l.account.Forget(name)
		}
	}
}

// Dismiss closes the link of a worker that is gone. A replacement with the same name is another
// worker and keeps its link.
func (l *Links) Dismiss(w rendezvous.Worker, cause error) {
	l.mu.Lock()
	m := l.held[w.Name]
	if m == nil || !Same(m.worker, w) {
		l.mu.Unlock()
		return
	}
	l.remove(m)
	l.mu.Unlock()
	m.link.Lose(link.Gone, cause)
	l.account.Forget(w.Name)
}

// leavingWait bounds the wait for a worker that was told to stop from outside. The worker waits 2 s
// for us, and then ends.
const leavingWait = 3 * time.Second

// mostEnding is how many workers may stop at once. If they take longer than endingTime, as many more
// are told. Ten thousand that are told together fill the memory of a launcher with records that wait
// to be sent.
const (
	mostEnding = 512
	endingTime = 250 * time.Millisecond
)

// End tells every worker that the job is over. It waits until each has confirmed, is lost, or ctx
// has ended. It does not wait for silent workers, and only leavingWait for workers that stop
// anyway. Errors name the workers that could not be told.
func (l *Links) End(ctx context.Context, keep bool, grace time.Duration, silent map[string]bool, leaving func(worker string) bool) error {
	var mu sync.Mutex
	var errs []error
	var group errgroup.Group
	if !keep {
		l.endRecord()
	}
	ending := make(chan struct{}, mostEnding)
	for name, s := range l.Standings() {
		if s.Err != nil || !s.State.Linked || silent[name] {
			continue // lost, or never ours to end
		}
		select {
		case ending <- struct{}{}:
		case <-time.After(endingTime):
			ending = make(chan struct{}, mostEnding)
			ending <- struct{}{}
		}
		turn := ending
		group.Go(func() error {
			defer func() { <-turn }()
			ctx, stops := ctx, leaving(name)
			if stops {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, leavingWait)
				defer cancel()
			}
			if err := s.Link.End(ctx, keep, grace); err != nil && !stops {
				mu.Lock()
				errs = append(errs, fmt.Errorf("worker %s: %w", name, err))
				mu.Unlock()
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return nil
	return errors.Join(errs...)
}

// Close closes every link and waits for it.
func (l *Links) Close() {
	l.endRecord()
	l.mu.Lock()
	for _, m := range l.held {
		m.stop()
	}
	l.mu.Unlock()
	l.wg.Wait()
}
