package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/worker"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// member is this pod's part: it hears orders, runs the processes that are its
// own, and tells how they are. One goroutine, loop, owns all of it.
type member struct {
	cfg      Config
	here     place
	reaper   *reap.Reaper
	client   *barrier.Member
	lead     *lead // nil but on rank 0
	instance string
	say      func(format string, words ...any)

	order   barrier.Order // the newest that counts
	by      string        // the coordinator that told it
	said    string        // the last reason that was printed
	news    barrier.News
	past    json.RawMessage // attempts that failed, as rank 0 has told them
	settled bool            // the attempt was over before rank 0 was lost, if it was

	crew     *crew
	ends     []end
	broken   string
	unnamed  chan struct{} // closed when what is started finds the names it is told; nil: it does
	held     []int         // to be started then
	clearing <-chan struct{}
	hurry    context.CancelFunc // of what is being cleared

	away      error // nil: rank 0 is there
	began     time.Time
	deadline  *time.Timer // of the barrier
	extended  bool
	lease     *time.Timer
	leaving   syscall.Signal
	verdict   *barrier.Order
	lastWords time.Time
}

// loop runs until the member has an end, and nothing of it lives.
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

// hear takes what the coordinator, or the connection to it, says.
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

// obey carries an order out.
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
		mine := m.cfg.Rank < len(o.Table) && o.Table[m.cfg.Rank].Instance == m.instance
		if mine && m.news.Ready && o.Attempt > m.news.Attempt {
			m.by, m.order = o.By, o
			m.begin(o)
		}
	case barrier.PhaseOver:
		if m.by == o.By { // else it is the end of a life before ours
			m.verdict = &o
			m.clear(ctx, wire.ReasonStopped, syscall.SIGTERM, min(m.cfg.Grace, failGrace))
		}
	}
}

// begin prepares an attempt; what is started is told by work.
func (m *member) begin(o barrier.Order) {
	m.deadline.Stop()
	m.ends, m.broken, m.settled = nil, "", false
	m.news = barrier.News{Attempt: o.Attempt, Port: o.Port, Used: o.Used}
	launch, err := m.cfg.launchOf(o.Table, o.Attempt, o.Port, m.here)
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
		m.unnamed, m.held = m.crew.resolve(hostsOf(launch.Processes, m.cfg.Rank, o.Table), m.say), nil
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
		m.held = w.Start // what the lead wants is told whole, again and again
	} else {
		m.startAll(w.Start)
	}
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
		// As under any small init: what we read it reads, a terminal too.
		spec.Files[0] = os.Stdin
		spec.Setsid = !isTerminal(0)
	}
	m.crew.start(i, spec)
}

// ended takes the end of a process down and tells it.
func (m *member) ended(e end) {
	m.ends = append(m.ends, m.crew.note(e))
	m.report()
}

func (m *member) report() {
	m.news.Work = text(done{Attempt: m.news.Attempt, Ends: m.ends, Broken: m.broken, Settled: m.settled, Past: m.past})
	m.client.Report(m.news)
}

// clear begins to end whatever runs, once.
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

// cleared: nothing of the attempt lives. Its last ends are taken down, but for
// processes that the kernel does not let go.
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
	m.hurry()
	m.crew, m.clearing = nil, nil
	m.rest()
}

// rest is where a member is of which nothing runs: it is ready for the next
// attempt, or goes.
func (m *member) rest() {
	m.lease.Stop()
	switch {
	case m.leaving != 0:
		m.verdict = m.farewell()
	case m.verdict == nil && !m.news.Ready:
		m.news.Ready = true
		m.began = time.Now()
		if m.lead == nil && m.cfg.Timeout > 0 { // rank 0 has the barrier's own
			m.deadline.Reset(m.cfg.Timeout)
			m.extended = false
		}
	}
	m.report()
}

// farewell is the end of a member that was told to stop.
func (m *member) farewell() *barrier.Order {
	o := barrier.Order{Code: 128 + int(m.leaving), Why: fmt.Sprintf("told to stop by %s", proc.SignalName(m.leaving))}
	if m.cfg.Workers == 1 && len(m.ends) == 1 {
		o.Code, o.Why = m.ends[0].Exit.Code, ""
	}
	return &o
}

// told carries out a signal from outside: a drain, a preemption, a deletion. The
// second means at once.
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
	o := barrier.Order{Code: names.ExitBug, Why: "the connection to rank 0 ended"}
	if r := (*barrier.Refusal)(nil); errors.As(err, &r) {
		o.Code, o.Why, o.Hint = r.Code, r.Text, r.Hint
	}
	m.verdict = &o
	m.clear(ctx, wire.ReasonStopped, syscall.SIGTERM, min(m.cfg.Grace, failGrace))
}
