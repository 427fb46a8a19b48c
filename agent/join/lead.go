package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// failGrace limits the time between TERM and KILL after an attempt has failed: its peers are gone,
// and the next attempt waits.
const failGrace = 10 * time.Second

// deliverTime is how long a leaving member stays to send its last news.
const deliverTime = 2 * time.Second

// lead is what rank 0 does besides being a member: it waits for all members, runs the group over
// their seats, and decides what follows. It starts and stops no process itself; the orders do.
type lead struct {
	cfg   Config
	coord *barrier.Coordinator
	here  place
	say   func(format string, words ...any)

	account retry.Account
	past    []retry.Tried // failed attempts, including those of a former coordinator
	ports   *ports

	quit   chan struct{} // closed when the pod of rank 0 is told to stop
	opened chan struct{} // holds a token when a session was opened that follow has not seen

	mu        sync.Mutex
	group     *group.Group       // the running group
	interrupt context.CancelFunc // ends the wait for a barrier
	sessions  map[*session]bool
	orders    map[int]*work // by rank
	leavers   map[int]bool  // ranks whose pods were told to stop
}

func newLead(cfg Config, coord *barrier.Coordinator, here place, say func(string, ...any)) (*lead, error) {
	classes, err := retry.Parse(cfg.RestartOn)
	if err != nil {
		return nil, err
	}
	l := &lead{cfg: cfg, coord: coord, here: here, say: say, sessions: map[*session]bool{}, quit: make(chan struct{}), opened: make(chan struct{}, 1)}
	l.account.Policy = retry.Policy{Max: cfg.MaxRestarts, On: classes}
	return l, nil
}

// run leads the job to its end and tells every member. If rank 0's pod is told to stop, its
// replacement continues.
func (l *lead) run(ctx context.Context) {
	o := l.attempts(ctx)
	if o.Phase == barrier.PhaseOver {
		o.Past = text(l.past)
		if err := l.coord.Tell(o); err != nil {
			l.say("%v", err)
		}
	}
	flush, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	l.coord.Flush(flush)
	if o.Phase == barrier.PhaseOver {
		bye, cancel := context.WithTimeout(ctx, farewellTime)
		defer cancel()
		l.coord.Farewell(bye)
	}
}

// farewellTime is how long rank 0 stays for members that have not received the end.
const farewellTime = barrier.Quiet + 3*time.Second

// attempts runs the group until it has succeeded, or will not be restarted. It returns the end of
// the job.
func (l *lead) attempts(ctx context.Context) barrier.Order {
	for o := (barrier.Order{}); ; {
		table, failed := l.gather(ctx, o)
		if l.quits() && failed != nil {
			return o
		}
		if failed != nil {
			l.meet(ctx, o)
			return *failed
		}
		began := time.Now()
		result, failed := l.attempt(ctx, table, &o)
		if failed != nil {
			l.meet(ctx, o)
			return *failed
		}
		if result.Cause == nil && !result.Stopped {
			return barrier.Order{Phase: barrier.PhaseOver, Attempt: o.Attempt}
		}
		l.mu.Lock()
		e, from := endOf(result, table, l.coord.Seats(), l.leavers)
		l.mu.Unlock()
		e.Lasted = time.Since(began)
		if failed = l.again(e, from, &o); failed != nil {
			return *failed
		}
	}
}

// meet sends every connected member an order before the end of a job whose attempt did not begin. A member
// ignores the end if it has no other order of this coordinator, and one that has just connected may have
// none: only the newest order is sent.
func (l *lead) meet(ctx context.Context, o barrier.Order) {
	o.Phase = barrier.PhaseGather
	if err := l.coord.Tell(o); err != nil {
		l.say("%v", err)
		return
	}
	flush, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	l.coord.Flush(flush)
}

// gather waits for all members, for the attempt of o. If members have run attempts under a former
// coordinator, it uses the next number after those.
func (l *lead) gather(ctx context.Context, o barrier.Order) ([]barrier.Card, *barrier.Order) {
	within, cancel := context.WithCancel(ctx)
	if l.cfg.Timeout > 0 {
		within, cancel = context.WithTimeout(ctx, l.cfg.Timeout)
	}
	defer cancel()
	l.mu.Lock()
	l.interrupt = cancel
	l.mu.Unlock()
	if l.quits() {
		cancel()
	}
	table, absent, err := l.coord.Gather(within, o)
	if err == nil {
		return table, nil
	}
	failed := barrier.Order{Phase: barrier.PhaseOver, Attempt: o.Attempt, Code: names.ExitDeadline, Absent: absent,
		Why: fmt.Sprintf("%d of %d members joined within %s", l.cfg.Workers-len(absent), l.cfg.Workers, l.cfg.Timeout)}
	const most = 20
	if n := len(absent) - most; n > 0 {
		failed.Absent, failed.More = absent[:most], n
	}
	return nil, &failed
}

// attempt runs the group once. failed is set if it cannot be run at all.
func (l *lead) attempt(ctx context.Context, table []barrier.Card, o *barrier.Order) (group.Result, *barrier.Order) {
	if failed := l.inherit(table, l.coord.Seats(), o); failed != nil {
		return group.Result{}, failed
	}
	o.Port = l.ports.take()
	launch, err := l.cfg.launchOf(table, o.Attempt, o.Port, l.here)
	if err != nil {
		return group.Result{}, over(*o, err)
	}
	run := *o
	run.Phase, run.Why = barrier.PhaseRun, ""
	if run.Table, err = barrier.Table(table).Pack(); err == nil {
		err = l.coord.Tell(run)
	}
	if err != nil {
		return group.Result{}, over(*o, err)
	}
	run.Table = nil // all further orders of the attempt are about its end
	g := group.New(l.groupOf(table, launch, run))
	l.mu.Lock()
	l.group, l.orders, l.leavers = g, map[int]*work{}, map[int]bool{}
	if l.quits() {
		g.Signal(syscall.SIGTERM)
	}
	l.mu.Unlock()
	following, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { l.follow(following, table, func(rank int) { l.part(g, rank, table[rank].Name, launch, run) }) })
	result := g.Run(ctx)
	stop()
	wg.Wait()
	l.mu.Lock()
	l.group = nil
	clear(l.sessions)
	l.mu.Unlock()
	named, more := result.GaveUp()
	for _, name := range named {
		l.say("gave up on %s: it did not report its end in time", name)
	}
	if more > 0 {
		l.say("gave up on %d more for the same reason", more)
	}
	return result, nil
}

// part asks the other members to end when the pod of a rank was told to stop, because ranks that
// save together need each other.
func (l *lead) part(g *group.Group, rank int, name string, launch framework.Launch, run barrier.Order) {
	if launch.Any || l.cfg.Workers == 1 || l.quits() {
		return
	}
	run.Why = fmt.Sprintf("rank %d on %s was told to stop: %s", rank, name, reap.Stopping("the other ranks", l.cfg.Grace))
	_ = l.coord.Tell(run) // it is sent again with the end
	g.Leave(name, l.cfg.Grace)
}

// over returns the end of a job that cannot be run.
func over(o barrier.Order, err error) *barrier.Order {
	end := barrier.Order{Phase: barrier.PhaseOver, Attempt: o.Attempt, Code: names.ExitBug, Why: err.Error()}
	if f := (*failure.Failure)(nil); errors.As(err, &f) {
		end.Code, end.Hint = f.Code, f.Way
	}
	return &end
}

// groupOf makes the members of the group from the processes of the launch.
func (l *lead) groupOf(table []barrier.Card, launch framework.Launch, run barrier.Order) group.Config {
	cfg := group.Config{Any: launch.Any, Grace: l.cfg.Grace, FailGrace: min(l.cfg.Grace, failGrace), Patience: cmp.Or(l.cfg.Timeout, Defaults().Timeout),
		OnWait: func(label, address string, soFar time.Duration) {
			l.say("%s is waiting for a process to listen on %s (%s so far)", label, address, soFar.Round(time.Second))
		},
		OnFailure: func(f group.Failure, others int) {
			run.Why = f.Sentence() + besides(others)
			if l.cfg.Workers > 1 {
				_ = l.coord.Tell(run) // it is sent again with the end
			}
		},
	}
	for i, p := range launch.Processes {
		card := table[p.Worker]
		cfg.Processes = append(cfg.Processes, group.Process{
			Label: labelOf(p), Worker: card.Name, Role: p.Role, Part: p.Part, After: p.After,
			Opener: chair{lead: l, rank: p.Worker, instance: card.Instance, attempt: run.Attempt, process: i},
			Spec:   wire.Spec{Argv: p.Argv},
		})
	}
	return cfg
}

func besides(others int) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more failed)", others)
}

// leave records that the pod of rank 0 is told to stop. The group stops with it, and the other
// members wait for its replacement.
func (l *lead) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quits() {
		return
	}
	close(l.quit)
	if l.interrupt != nil {
		l.interrupt()
	}
	if l.group != nil {
		l.group.Signal(syscall.SIGTERM)
	}
}

func (l *lead) quits() bool {
	select {
	case <-l.quit:
		return true
	default:
		return false
	}
}
