//go:build linux

package launch

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
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// dialers are the ways to workers: to pods through the API server, or to processes
// on this machine.
type dialers interface {
	dialer(w rendezvous.Worker) link.Dialer
}

// links keeps one link per worker, from the moment its container runs.
type links struct {
	ways  dialers
	gate  *link.Gate // nil: no API server to spare
	hello wire.HelloRecord
	lease time.Duration
	log   *slog.Logger
	tally *tally
	voice *console.Voice // nil: nothing is said

	changed chan struct{} // one token: some link has another state
	whole   chan struct{} // one token: the last of those that are there has come up
	wg      sync.WaitGroup
	stops   atomic.Uint64 // of ranks alone, numbered for the workers

	mu      sync.Mutex
	members map[string]*member // by worker name
	up      int                // of them connected
	leaving *goingDown         // the first that told of its stop and has not been taken; nil: none
}

// member is one worker and its link.
type member struct {
	worker rendezvous.Worker
	link   *link.Link
	stop   context.CancelFunc
	done   chan struct{}
	state  link.State
	err    error // a *link.LostError: the link is over
}

func newLinks(ways dialers, gate *link.Gate, hello wire.HelloRecord, lease time.Duration, log *slog.Logger, t *tally) *links {
	return &links{ways: ways, gate: gate, hello: hello, lease: lease, log: log, tally: t,
		changed: make(chan struct{}, 1), whole: make(chan struct{}, 1), members: map[string]*member{}}
}

// follow opens the link of w unless it is there already. A pod that took
// another's name, or a container that was restarted, gets a new link.
func (l *links) follow(ctx context.Context, w rendezvous.Worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.members[w.Name]; m != nil {
		if m.worker.UID == w.UID && m.worker.ContainerID == w.ContainerID {
			return
		}
		l.remove(m)
		m.stop()
	}
	l.open(ctx, w)
}

// remove takes a member out. It is called with mu held.
func (l *links) remove(m *member) {
	delete(l.members, m.worker.Name)
	if m.state.Connected {
		l.up--
	}
}

// open opens a link. It is called with mu held, and apart from follow, whose
// looks at links that are there allocate nothing.
func (l *links) open(ctx context.Context, w rendezvous.Worker) {
	ctx, stop := context.WithCancel(ctx)
	m := &member{worker: w, stop: stop, done: make(chan struct{})}
	m.link = link.New(link.Config{
		Worker: w.Name, Dialer: l.ways.dialer(w), Gate: l.gate, Hello: l.helloTo(w), Lease: l.lease,
		PingEvery: pingEvery(l.lease), ParkAfter: l.parkAfter(),
		Log:      l.log,
		OnState:  func(s link.State) { l.note(m, s) },
		OnReport: func(rec wire.ReportRecord) { l.reported(w.Name, rec) },
	})
	l.members[w.Name] = m
	l.run(ctx, m)
}

// helloTo is what w is told: its pod's grace as well, which bounds that of the run. The workers of
// the beginning are known to have enough.
func (l *links) helloTo(w rendezvous.Worker) wire.HelloRecord {
	h := l.hello
	h.PodGraceMillis = w.Grace.Milliseconds()
	if w.Grace > 0 && h.GraceMillis > h.PodGraceMillis {
		h.GraceMillis = names.Grace(w.Grace).Milliseconds()
	}
	return h
}

// run keeps m's link up until ctx ends or the worker is lost.
func (l *links) run(ctx context.Context, m *member) {
	l.wg.Go(func() {
		defer close(m.done)
		defer m.stop()
		err := m.link.Run(ctx)
		l.mu.Lock()
		m.err = err
		l.mu.Unlock()
		l.nudge()
	})
}

// parkAfter is how long an idle link stays open; 0: the default. Without an API
// server there is nothing to spare. An open link also tells a fake worker at once
// that its launcher was killed.
func (l *links) parkAfter() time.Duration {
	if l.gate == nil {
		return -1
	}
	return 0
}

// pingEvery keeps idle links within the shortest of leases: every byte of ours
// renews it.
func pingEvery(lease time.Duration) time.Duration { return min(5*time.Second, lease/4) }

func (l *links) note(m *member, s link.State) {
	l.mu.Lock()
	current := l.members[m.worker.Name] == m
	if current && s.Connected != m.state.Connected {
		if s.Connected {
			l.up++
		} else {
			l.up--
		}
	}
	m.state = s
	whole := current && l.up == len(l.members)
	l.mu.Unlock()
	if current {
		l.tally.link(m.worker.Name, s.Connected, s.Parked)
	}
	l.nudge()
	if whole {
		token(l.whole)
	}
}

func (l *links) nudge() { token(l.changed) }

// token puts one there, if there is none.
func token(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// standing is a copy of what is known of one worker's link.
type standing struct {
	worker rendezvous.Worker
	link   *link.Link
	state  link.State
	err    error
}

// linkOf is the present link of a worker; nil: there is none.
func (l *links) linkOf(worker string) *link.Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.members[worker]; m != nil {
		return m.link
	}
	return nil
}

// standings copies all.
func (l *links) standings() map[string]standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]standing, len(l.members))
	for name, m := range l.members {
		all[name] = standing{m.worker, m.link, m.state, m.err}
	}
	return all
}

// alive asks all workers at once for a sign of life, and reports whether every
// one gave it before ctx ended. A parked link is woken and cannot tell yet.
func (l *links) alive(ctx context.Context) bool {
	var silent atomic.Bool
	var asked sync.WaitGroup
	for _, s := range l.standings() {
		if s.state.Parked {
			s.link.Wake()
		}
		asked.Go(func() {
			if !s.link.Prove(ctx) {
				silent.Store(true)
			}
		})
	}
	asked.Wait()
	return !silent.Load()
}

// heard waits until every worker that is connected has given a sign of life, and
// with it has told what it had to tell, or ctx has ended.
func (l *links) heard(ctx context.Context) {
	var asked sync.WaitGroup
	for _, s := range l.standings() {
		if s.state.Connected {
			asked.Go(func() { s.link.Prove(ctx) })
		}
	}
	asked.Wait()
}

// lose gives workers up on the word of the pod watch.
func (l *links) lose(worker string, cause error) {
	l.mu.Lock()
	m := l.members[worker]
	l.mu.Unlock()
	if m != nil {
		m.link.Lose(link.Gone, cause)
	}
}

// forget takes the links of these workers down for good, so that follow opens new
// ones to whatever comes in their place.
func (l *links) forget(workers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range workers {
		if m := l.members[name]; m != nil {
			m.stop()
			l.remove(m)
			l.tally.forget(name)
			if l.leaving != nil && l.leaving.worker == name {
				l.leaving = nil
			}
		}
	}
}

// dismiss takes the link of a worker down that is gone. What has come in its place
// under the same name is another worker.
func (l *links) dismiss(w rendezvous.Worker, cause error) {
	l.mu.Lock()
	m := l.members[w.Name]
	if m == nil || !same(m.worker, w) {
		l.mu.Unlock()
		return
	}
	l.remove(m)
	l.mu.Unlock()
	m.link.Lose(link.Gone, cause)
	l.tally.forget(w.Name)
}

// leavingWait is for a worker that was told to stop from outside: it waits for 2 s for us,
// and ends.
const leavingWait = 3 * time.Second

// end tells every worker that the job is over and waits until each has
// confirmed, is lost, or ctx has ended; but not for silent ones, and leavingWait for those
// that stop anyhow. Errors name the workers that could not be told.
func (l *links) end(ctx context.Context, keep bool, grace time.Duration, silent map[string]bool, leaving func(worker string) bool) error {
	var mu sync.Mutex
	var errs []error
	var group errgroup.Group
	for name, s := range l.standings() {
		if s.err != nil || !s.state.Linked || silent[name] {
			continue // lost, or never ours to end
		}
		group.Go(func() error {
			ctx, stops := ctx, leaving(name)
			if stops {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, leavingWait)
				defer cancel()
			}
			if err := s.link.End(ctx, keep, grace); err != nil && !stops {
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

// close takes every link down and waits for it.
func (l *links) close() {
	l.mu.Lock()
	for _, m := range l.members {
		m.stop()
	}
	l.mu.Unlock()
	l.wg.Wait()
}
