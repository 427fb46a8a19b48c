package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/worker"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// member is the part of this pod: it receives orders, runs its own processes, and reports their
// state. One goroutine, loop, owns all of it.
type member struct {
	cfg      Config
	here     place
	reaper   *reap.Reaper
	client   *barrier.Member
	lead     *lead // only on rank 0; else nil
	instance string
	say      func(format string, words ...any)

	order   barrier.Order // the newest valid order
	by      string        // the coordinator that sent it
	said    string        // the last printed reason
	news    barrier.News
	past    json.RawMessage // failed attempts, as reported by rank 0
	settled bool            // if rank 0 was lost: the attempt was over before that

	crew     *crew
	ends     []end
	broken   string
	unnamed  chan struct{} // closed when the names for the processes resolve; nil: they do
	held     []int         // processes to start then
	clearing <-chan struct{}
	hurry    context.CancelFunc // shortens the running clear

	away      error // nil: rank 0 is connected
	began     time.Time
	deadline  *time.Timer // of the barrier
	lease     *time.Timer
	leaving   syscall.Signal
	verdict   *barrier.Order
	lastWords time.Time
}

// loop runs until the member has ended and none of its processes is left.
func (m *member) loop(ctx context.Context, signals worker.Signals, refused <-chan error) barrier.Order {
	m.deadline, m.lease = stopped(), stopped()
	defer m.deadline.Stop()
	defer m.lease.Stop()
	m.rest()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for m.verdict == nil || m.crew != nil {
		var ends chan end
		if m.crew != nil {
			ends = m.crew.ends
		}
		select {
		case e := <-m.client.Events():
			m.hear(ctx, e)
		case e := <-ends:
			m.ended(e)
		case <-m.unnamed:
			m.unnamed = nil
			m.startAll(m.held)
		case <-m.clearing:
			m.cleared()
		case s := <-signals.Stop:
			m.told(ctx, s.(syscall.Signal))
		case s := <-signals.Passed:
			if m.crew != nil {
				m.crew.signal(s.(syscall.Signal))
			}
		case err := <-refused:
			m.refused(ctx, err)
		case <-m.deadline.C:
			m.late()
		case <-m.lease.C:
			m.cutOff(ctx)
		case <-tick.C:
			m.progress()
			m.doubts()
		}
	}
	return *m.verdict
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// hear handles an event of the coordinator, or of the connection to it.
func (m *member) hear(ctx context.Context, e barrier.Event) {
	switch {
	case e.Order != nil:
		m.obey(ctx, *e.Order)
	case e.Work != nil:
		m.work(e.Work)
	case e.Back:
		m.away = nil
		m.lease.Stop()
	case e.Away != nil:
		if m.away == nil && m.crew != nil {
			m.lease.Reset(m.cfg.Lease)
		}
		m.away = e.Away
	}
}

// obey carries out an order.
func (m *member) obey(ctx context.Context, o barrier.Order) {
	if o.Why != "" && o.Why != m.said && o.Phase != barrier.PhaseOver && m.news.Attempt >= 0 {
		m.said = o.Why
		m.say("%s", o.Why)
	}
	if len(o.Past) > 0 {
		m.past = o.Past
	}
	switch o.Phase {
	case barrier.PhaseGather:
		m.by, m.order = o.By, o
		if o.Attempt > m.news.Attempt && m.news.Attempt >= 0 {
			m.settled, m.news.Used = true, o.Used
		}
		m.clear(ctx, wire.ReasonStopped, syscall.SIGTERM, min(m.cfg.Grace, failGrace))
	case barrier.PhaseRun:
		if !m.news.Ready || o.Attempt <= m.news.Attempt || len(o.Table) == 0 {
			return
		}
		table, err := o.Table.Unpack()
		mine := m.cfg.Rank < len(table) && table[m.cfg.Rank].Instance == m.instance
		if mine || err != nil {
			m.by, m.order = o.By, o
			m.begin(o, table, err)
		}
	case barrier.PhaseOver:
		if m.by == o.By { // otherwise it is the end of an earlier life
			m.conclude(o)
			m.clear(ctx, wire.ReasonStopped, syscall.SIGTERM, min(m.cfg.Grace, failGrace))
		}
	}
}

// conclude sets how the member ends. The first end counts: a pod may be told to stop while its member
// stops what a finished job has left. Or the job may end while the member stops because it was told to.
func (m *member) conclude(o barrier.Order) {
	if m.verdict == nil && m.leaving == 0 {
		m.verdict = &o
	}
}

// begin prepares an attempt. Later work says which processes to start. err is the reason why there is
// no table.
func (m *member) begin(o barrier.Order, table barrier.Table, err error) {
	m.deadline.Stop()
	m.ends, m.broken, m.settled = nil, "", false
	m.news = barrier.News{Attempt: o.Attempt, Port: o.Port, Used: o.Used}
	var launch framework.Launch
	if err == nil {
		launch, err = m.cfg.launchOf(table, o.Attempt, o.Port, m.here)
	}
	if err == nil {
		m.crew, err = newCrew(m.reaper, launch, o.Attempt, m.here)
	}
	if err == nil {
		m.crew.doubt = m.cfg.doubtOf(m.crew.find)
	}
	if err != nil {
		m.broken = err.Error()
	} else {
		for _, w := range launch.Warnings {
			if m.lead != nil {
				m.say("%s", w)
			}
		}
		m.unnamed, m.held = m.crew.resolve(hostsOf(launch.Processes, m.cfg.Rank, table), m.say), nil
	}
	m.report()
}

// work starts and stops processes.
func (m *member) work(text []byte) {
	var w work
	if json.Unmarshal(text, &w) != nil || m.crew == nil || w.Attempt != m.crew.attempt || m.clearing != nil {
		return
	}
	if m.unnamed != nil {
		m.held = w.Start // the lead sends the complete list each time
		for _, h := range w.Stop {
			if e, ok := m.crew.skip(h.Process); ok {
				m.ends = append(m.ends, e)
				m.report()
			}
		}
		return
	}
	m.startAll(w.Start)
	for _, h := range w.Stop {
		m.crew.stop(h.Process, time.Duration(h.GraceMillis)*time.Millisecond)
	}
}

func (m *member) startAll(list []int) {
	for _, i := range list {
		if i >= 0 && i < len(m.crew.launch.Processes) && m.crew.procs[i] == nil {
			m.start(i)
		}
	}
}

func (m *member) start(i int) {
	p := m.crew.launch.Processes[i]
	env, warnings := m.cfg.environment(p, m.crew.attempt, m.crew.files, m.here)
	if p.Local == 0 && m.crew.attempt == 0 {
		for _, w := range warnings {
			m.say("%s", w)
		}
	}
	spec := reap.Spec{Argv: p.Argv, Env: env, Dir: m.cfg.Chdir, Setsid: true, OOMScoreAdj: worker.RankOOMScore(), Files: []*os.File{nil, os.Stdout, os.Stderr}}
	if m.cfg.Workers == 1 && len(m.crew.launch.Processes) == 1 {
		// As under any small init, the process reads our standard input, including a terminal.
		spec.Files[0] = os.Stdin
		spec.Setsid = !isTerminal(0)
	}
	m.crew.start(i, spec)
}

// ended records the end of a process and reports it.
func (m *member) ended(e end) {
	m.ends = append(m.ends, m.crew.note(e))
	m.report()
}

func (m *member) report() {
	m.news.Work = text(done{Attempt: m.news.Attempt, Ends: m.ends, Broken: m.broken, Settled: m.settled, Past: m.past})
	m.client.Report(m.news)
}

// clear starts to stop all processes, once.
func (m *member) clear(ctx context.Context, reason string, sig syscall.Signal, grace time.Duration) {
	if m.clearing != nil {
		return
	}
	if m.crew == nil {
		m.rest()
		return
	}
	m.unnamed, m.held = nil, nil
	ctx, m.hurry = context.WithCancel(ctx)
	m.clearing = m.crew.clear(ctx, reason, sig, grace, m.say)
}

// cleared is called when no process of the attempt is left. It records the last ends, except of
// processes that the kernel does not release, or that wait for a file system to start.
func (m *member) cleared() {
	gone := make(chan struct{})
	go func() {
		m.crew.wg.Wait()
		close(gone)
	}()
	patience := time.NewTimer(2 * time.Second)
	defer patience.Stop()
	for waiting := true; waiting; {
		select {
		case e := <-m.crew.ends:
			m.ended(e)
		case <-gone:
			waiting = false
		case <-patience.C:
			waiting = false
		}
	}
	for _, e := range m.crew.unstarted() {
		m.ended(e)
	}
	m.hurry()
	close(m.crew.left)
	m.crew, m.clearing = nil, nil
	m.rest()
}

// rest is called when no process of the member runs: the member is ready for the next attempt, or
// ends.
func (m *member) rest() {
	m.lease.Stop()
	switch {
	case m.verdict != nil:
	case m.leaving != 0:
		m.verdict = m.farewell()
	case !m.news.Ready:
		m.news.Ready = true
		m.began = time.Now()
		if m.lead == nil && m.cfg.Timeout > 0 { // rank 0 has the deadline of the barrier itself
			m.deadline.Reset(m.cfg.Timeout)
		}
	}
	m.report()
}

// farewell returns the end of a member that was told to stop.
func (m *member) farewell() *barrier.Order {
	o := barrier.Order{Code: 128 + int(m.leaving), Why: fmt.Sprintf("told to stop by %s", proc.SignalName(m.leaving))}
	if m.cfg.Workers == 1 && len(m.ends) == 1 {
		o.Code, o.Why = m.ends[0].Exit.Code, ""
	}
	return &o
}

// told handles a signal from outside: a drain, a preemption, a deletion. The second signal kills at
// once.
func (m *member) told(ctx context.Context, sig syscall.Signal) {
	if m.leaving != 0 {
		if m.hurry != nil {
			m.hurry()
		}
		return
	}
	m.leaving = sig
	m.news.Leaving, m.news.Ready = "its pod was told to stop by "+proc.SignalName(sig), false
	m.report()
	if m.lead != nil {
		m.lead.leave()
	}
	m.clear(ctx, wire.ReasonPreempted, sig, m.cfg.Grace)
}

// refused ends a member that does not fit the others.
func (m *member) refused(ctx context.Context, err error) {
	o := barrier.Order{Code: names.ExitBug, Why: "lost the connection to rank 0"}
	if r := (*barrier.Refusal)(nil); errors.As(err, &r) {
		o.Code, o.Why, o.Hint = r.Code, r.Text, r.Hint
	}
	m.conclude(o)
	m.clear(ctx, wire.ReasonStopped, syscall.SIGTERM, min(m.cfg.Grace, failGrace))
}
