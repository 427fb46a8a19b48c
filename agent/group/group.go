package group

import (
	"context"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// stopMargin is how long a stop may take beyond its grace before an unresponsive worker is given
// up. It covers the KILL and the round trip on a busy machine, over a link that was cut and is
// redialed.
const stopMargin = 8 * time.Second

// Result is how the group ended.
type Result struct {
	Code    int      // 0, or that of the cause; also 0 if it was told to stop
	Cause   *Failure // nil if there is none
	Others  int      // further processes that failed by themselves
	Stopped bool     // it was told to stop, or a leaving worker was
	Left    []string // processes that were given up, because their ends were not reported in time
}

// mostNamed is how many processes that were given up are named.
const mostNamed = 5

// GaveUp returns the names of the first processes that were given up, and how many more there are.
func (r Result) GaveUp() (named []string, more int) {
	n := min(len(r.Left), mostNamed)
	return r.Left[:n], len(r.Left) - n
}

// Group is one run of a group of processes.
type Group struct {
	cfg       Config
	processes []*process
	inbox     *inbox
	signals   chan syscall.Signal
	joining   chan joiner
	leaving   chan departure
	gone      chan struct{} // closed when Run has returned
	wg        sync.WaitGroup

	pace     pace
	phase    phase
	tier     int // the tier that is being stopped
	last     int // the last tier
	timer    *time.Timer
	seen     <-chan struct{} // closed when the witness is done; nil if there is no witness
	witness  func(Failure) <-chan struct{}
	called   time.Time // when the witness began to look; zero: it has not
	failures []End
	examined int // the number of failures that the witness was offered
	result   Result
	told     bool          // it was told to stop, by Signal
	grace    time.Duration // grace of the stop
	departs  held          // the worker of Leave
	keeps    held          // the worker of Config.Last
}

// phase is the phase of a run.
type phase int

const (
	running    phase = iota
	settling         // one has failed; others may have failed earlier
	witnessing       // the processes are being examined
	lingering        // Any is decided; the others may end by themselves
	stopping
	over
)

// process is the state of a Process during the run.
type process struct {
	Process
	err     *tail
	session Session
	ended   bool
	good    bool      // it did not fail
	told    bool      // it was told to stop
	asked   time.Time // when it was told; zero if it was not, or had ended
	tier    int
}

// event is a change of a process.
type event struct {
	end   End
	ready bool // its address answers; end only identifies the process
}

// New returns a Group. Run starts it.
func New(cfg Config) *Group {
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	if cfg.Dial == nil {
		cfg.Dial = dialTCP
	}
	g := &Group{cfg: cfg, inbox: newInbox(), signals: make(chan syscall.Signal, 16), grace: cfg.Grace,
		joining: make(chan joiner), leaving: make(chan departure), gone: make(chan struct{}), pace: newPace()}
	for _, p := range cfg.Processes {
		g.processes = append(g.processes, &process{Process: p, err: &tail{to: p.Stderr}})
	}
	g.last = rankTiers(g.processes)
	return g
}

// Signal passes a signal to the group and does not wait. TERM and INT stop the group, KILL kills it
// at once, and other signals are passed on to its processes.
func (g *Group) Signal(sig syscall.Signal) {
	select {
	case g.signals <- sig:
	default: // more signals than anyone can mean
	}
}

// Run starts the group and returns its final result when it has ended. When ctx ends, every process
// is killed.
func (g *Group) Run(ctx context.Context) Result {
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer close(g.gone)
	defer g.wg.Wait()
	defer leave()
	g.timer = time.NewTimer(time.Hour)
	g.timer.Stop()
	defer g.timer.Stop()
	g.pace.timer = time.NewTimer(time.Hour)
	g.pace.timer.Stop()
	defer g.pace.timer.Stop()
	for i := range g.processes {
		g.start(waiting, i)
	}
	g.proceed(waiting)
	g.witness = func(f Failure) <-chan struct{} { return g.cfg.Witness(waiting, f) }
	g.look()
	done := ctx.Done()
	for g.phase != over {
		select {
		case <-g.inbox.news:
			g.takeAll(waiting)
		case j := <-g.joining:
			j.taken <- g.join(waiting, j.Process)
		case d := <-g.leaving:
			g.leave(d)
		case <-g.pace.news:
			g.proceed(waiting)
			g.look()
		case <-g.pace.timer.C:
			g.pace.elapsed()
			g.proceed(waiting)
			g.look()
		case <-g.timer.C:
			g.due()
		case <-g.seen:
			g.seen = nil
			if g.phase == witnessing {
				g.conclude()
			}
		case sig := <-g.signals:
			g.obey(sig)
		case <-done:
			done = nil
			g.obey(syscall.SIGKILL)
		}
	}
	if len(g.result.Left) > 0 && g.cfg.Release != nil {
		g.cfg.Release()
	}
	g.result.Stopped = g.told || g.departs.worker != ""
	return g.result
}

// start queues the process for proceed, after waiting for its address if it has one.
func (g *Group) start(waiting context.Context, i int) {
	p := g.processes[i]
	if p.After == "" {
		g.pace.queue = append(g.pace.queue, i)
		return
	}
	g.wg.Go(func() {
		if err := g.await(waiting, p.Label, p.After); err != nil {
			g.inbox.add(event{end: End{Process: i, Err: err, At: time.Now(), late: true}})
			return
		}
		g.inbox.add(event{end: End{Process: i}, ready: true})
	})
}

// open opens a session and follows it.
func (g *Group) open(waiting context.Context, i int) {
	p := g.processes[i]
	stdout := io.Writer(io.Discard)
	if p.Stdout != nil {
		stdout = p.Stdout
	}
	session, err := p.Opener.Open(waiting, wire.NewID(), p.Spec, stdout, p.err)
	if err != nil {
		p.close()
		g.note(End{Process: i, Err: err, At: time.Now()})
		return
	}
	p.session = session
	g.pace.opened(session)
	followed := func() {
		exit, err := session.Wait(waiting)
		p.close() // here, because the rest of a line may have to wait for its reader
		end := End{Process: i, Exit: exit, Err: err, At: time.Now()}
		if at := time.UnixMilli(exit.EndedMillis); exit.EndedMillis != 0 && err == nil && at.Before(end.At) { // else its clock is ahead
			end.At = at
		}
		g.inbox.add(event{end: end})
	}
	if !g.followLater(waiting, session, followed) {
		g.wg.Go(followed)
	}
}

// followLater has followed called when a session has ended, or when waiting ends. It returns false if
// the session cannot do that.
func (g *Group) followLater(waiting context.Context, session Session, followed func()) bool {
	s, ok := session.(interface{ Then(f func()) bool })
	if !ok {
		return false
	}
	g.wg.Add(1)
	once := sync.OnceFunc(func() {
		defer g.wg.Done()
		followed()
	})
	stop := context.AfterFunc(waiting, once)
	if s.Then(func() { stop(); once() }) {
		return true
	}
	if stop() {
		g.wg.Done()
		return false
	}
	return true // waiting has ended
}

// takeAll handles the events that have come.
func (g *Group) takeAll(waiting context.Context) {
	for _, e := range g.inbox.takeAll() {
		switch {
		case g.processes[e.end.Process].ended: // it was given up, or will not be started
		case e.ready:
			g.pace.queue = append(g.pace.queue, e.end.Process)
		default:
			g.note(e.end)
		}
	}
	g.proceed(waiting)
	g.look()
}

// note records an end.
func (g *Group) note(e End) {
	p := g.processes[e.Process]
	e.ours, e.Asked = p.told, p.asked
	p.ended = true
	failed := e.bad() && !e.ours
	p.good = !failed
	if failed {
		g.failures = append(g.failures, e)
	}
	if g.cfg.OnEnd != nil {
		g.cfg.OnEnd(e, failed)
	}
}

func (p *process) close() {
	if p.Stdout != nil {
		_ = p.Stdout.Close() // a failed write has reported it already
	}
	_ = p.err.Close()
}

// failure describes an end.
func (g *Group) failure(e End) Failure {
	p := g.processes[e.Process]
	return Failure{End: e, Label: p.Label, Worker: p.Worker, Tail: p.err.last()}
}
