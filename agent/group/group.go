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

// Group is one run of a group of processes.
type Group struct {
	cfg     Config
	members []*member
	events  chan event
	signals chan syscall.Signal
	joining chan joiner
	leaving chan departure
	gone    chan struct{} // closed when Run has returned
	wg      sync.WaitGroup

	phase    phase
	tier     int // the tier that is being stopped
	last     int // the last tier
	timer    *time.Timer
	seen     <-chan struct{} // closed when the witness is done; nil if there is no witness
	witness  func() <-chan struct{}
	settled  time.Time // when the group failed
	failures []End
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

// member is the state of a Member during the run.
type member struct {
	Member
	err     *tail
	session Session
	ended   bool
	good    bool      // it did not fail
	told    bool      // it was told to stop
	asked   time.Time // when it was told; zero if it was not, or had ended
	tier    int
}

// event is a change of a member.
type event struct {
	end   End
	ready bool // its address answers; end only identifies the member
}

// New returns a Group. Run starts it.
func New(cfg Config) *Group {
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	if cfg.Dial == nil {
		cfg.Dial = dialTCP
	}
	g := &Group{cfg: cfg, events: make(chan event), signals: make(chan syscall.Signal, 16), grace: cfg.Grace,
		joining: make(chan joiner), leaving: make(chan departure), gone: make(chan struct{})}
	for _, m := range cfg.Members {
		g.members = append(g.members, &member{Member: m, err: &tail{to: m.Stderr}})
	}
	g.last = rankTiers(g.members)
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
	for i := range g.members {
		g.start(waiting, i)
	}
	g.witness = func() <-chan struct{} { return g.cfg.Witness(waiting) }
	g.look()
	done := ctx.Done()
	for g.phase != over {
		select {
		case e := <-g.events:
			g.take(waiting, e)
		case j := <-g.joining:
			j.taken <- g.join(waiting, j.Member)
		case d := <-g.leaving:
			g.leave(d)
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

// start opens the member's session, after waiting for its address if it has one.
func (g *Group) start(waiting context.Context, i int) {
	m := g.members[i]
	if m.After == "" {
		g.open(waiting, i)
		return
	}
	g.wg.Go(func() {
		if err := g.await(waiting, m.Label, m.After); err != nil {
			g.send(waiting, event{end: End{Member: i, Err: err, At: time.Now(), late: true}})
			return
		}
		g.send(waiting, event{end: End{Member: i}, ready: true})
	})
}

// open opens a session and follows it.
func (g *Group) open(waiting context.Context, i int) {
	m := g.members[i]
	stdout := io.Writer(io.Discard)
	if m.Stdout != nil {
		stdout = m.Stdout
	}
	session, err := m.Opener.Open(waiting, wire.NewID(), m.Spec, stdout, m.err)
	if err != nil {
		m.close()
		g.note(End{Member: i, Err: err, At: time.Now()})
		return
	}
	m.session = session
	g.wg.Go(func() {
		exit, err := session.Wait(waiting)
		m.close() // here, because the rest of a line may have to wait for its reader
		end := End{Member: i, Exit: exit, Err: err, At: time.Now()}
		if exit.EndedMillis != 0 && err == nil {
			end.At = time.UnixMilli(exit.EndedMillis)
		}
		g.send(waiting, event{end: end})
	})
}

// send passes an event to Run, unless Run has returned.
func (g *Group) send(waiting context.Context, e event) {
	select {
	case g.events <- e:
	case <-waiting.Done():
	}
}

// take handles an event.
func (g *Group) take(waiting context.Context, e event) {
	switch {
	case g.members[e.end.Member].ended: // it was given up, or will not be started
		return
	case e.ready:
		g.open(waiting, e.end.Member)
	default:
		g.note(e.end)
	}
	g.look()
}

// note records an end.
func (g *Group) note(e End) {
	m := g.members[e.Member]
	e.ours, e.Asked = m.told, m.asked
	m.ended = true
	failed := e.bad() && !e.ours
	m.good = !failed
	if failed {
		g.failures = append(g.failures, e)
	}
	if g.cfg.OnEnd != nil {
		g.cfg.OnEnd(e, failed)
	}
}

func (m *member) close() {
	if m.Stdout != nil {
		_ = m.Stdout.Close() // a failed write has reported it already
	}
	_ = m.err.Close()
}

// failure describes an end.
func (g *Group) failure(e End) Failure {
	m := g.members[e.Member]
	return Failure{End: e, Label: m.Label, Worker: m.Worker, Tail: m.err.last()}
}
