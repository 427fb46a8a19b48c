//go:build linux

package session

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// session is one process tree and the streams of its first process.
type session struct {
	id, hash string
	srv      *Server
	stdin    *flow.In
	stdout   *flow.Out
	stderr   *flow.Out
	tree     *reap.Tree
	conn     atomic.Pointer[conn] // nil while no connection has the session
	started  chan struct{}        // closed when its process runs, or could not be started
	ordered  chan struct{}        // signaled when there are orders
	dropped  chan struct{}        // closed when the server drops it

	// The fields below are guarded by srv.mu.
	proc       *reap.Process // nil until it is started, and if it could not be
	pipes      pipes
	channel    uint32 // its number on conn
	stdinAcked uint64 // last acknowledgement sent on conn
	control    uint64 // highest control number taken
	oom        int    // the container's count of memory kills before it began
	orders     []wire.ControlRecord
	forgotten  bool   // the launcher has its end, or does not want it
	reason     string // why we stopped it
	phase      phase
	exit       *wire.ExitRecord // nil while it is starting or running
	output     carriage
	late       bool // a stop is over that could not wait for the start
	line       bool // it runs a line, as for ssh
	inGroup    bool // its launcher ends the others if it fails

	sight sight // guarded by the observer's mu

	born    time.Time
	wrote   atomic.Int64      // time of the last output, as a duration since born
	full    atomic.Int32      // number of outputs that wait for room
	ours    atomic.Bool       // we are stopping it: the ends of its processes are caused by us
	rest    chan struct{}     // the channel of restStop; guarded by srv.mu
	asked   []wire.EndingRank // its ranks that a stop has asked to end; guarded by srv.mu
	askedAt time.Time         // when the stop asked them
}

// over reports whether the first process has ended. The caller holds srv.mu.
func (x *session) over() bool {
	if x.proc == nil {
		return false
	}
	select {
	case <-x.proc.Done():
		return true
	default:
		return false
	}
}

// awaitStart waits until the process runs, could not be started, or ctx ends: execve may hang with
// the file system of the program.
func (x *session) awaitStart(ctx context.Context) {
	select {
	case <-x.started:
	case <-ctx.Done():
	}
}

// outwait is awaitStart for a stop. If ctx ends first, the process is killed as soon as it runs:
// nothing would stop it any more.
func (x *session) outwait(ctx context.Context) {
	x.awaitStart(ctx)
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	x.late = x.phase == starting
}

// starting reports whether the process neither runs nor could not be started.
func (x *session) starting() bool {
	select {
	case <-x.started:
		return false
	default:
		return true
	}
}

func (x *session) process() *reap.Process {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	return x.proc
}

// kick wakes the sender of the session's connection. It is called with locks of flow held, and must
// not block.
func (x *session) kick() {
	if c := x.conn.Load(); c != nil {
		c.kick()
	}
}

// ackStdin makes the sender acknowledge what the process took.
func (x *session) ackStdin() {
	if c := x.conn.Load(); c != nil {
		c.lookForAcks()
	}
}

// newSession prepares a session, and starts nothing.
func (s *Server) newSession(rec wire.OpenRecord) *session {
	x := &session{id: rec.ID, hash: rec.Hash, srv: s, born: time.Now(), tree: s.cfg.Reaper.Table(names.EnvSession).Tree(rec.ID),
		oom:     proc.MemoryKills(s.cfg.Cgroup),
		started: make(chan struct{}), ordered: make(chan struct{}, 1), dropped: make(chan struct{})}
	s.observer.add(x)
	x.stdin = flow.NewIn(wire.StreamWindow, x.ackStdin)
	x.stdout = flow.NewOut(wire.StreamWindow, s.limits, x.kick)
	x.stderr = flow.NewOut(wire.StreamWindow, s.limits, x.kick)
	return x
}

// run starts the session's goroutines for p. It is called once.
func (x *session) run(p *reap.Process, pipes pipes, spec wire.Spec) {
	x.srv.mu.Lock()
	x.proc, x.pipes = p, pipes
	x.enter(running)
	late := x.late
	x.srv.mu.Unlock()
	if late {
		_ = p.SignalGroup(syscall.SIGKILL) // it may have ended already
	}
	out, told := make(chan struct{}, 2), make(chan struct{})
	carry := func(r *os.File, to, other *flow.Out) {
		defer r.Close() // a writer without a reader gets SIGPIPE
		x.pump(r, to, other, spec.InOrder)
		out <- struct{}{}
		endAt(told, to)
		x.drop(r)
	}
	x.srv.wg.Go(func() { carry(pipes.stdout, x.stdout, x.stderr) })
	x.srv.wg.Go(func() { carry(pipes.stderr, x.stderr, x.stdout) })
	if pipes.stdin != nil {
		x.srv.wg.Go(func() { x.feed(p, pipes.stdin) })
	} else {
		x.stdin.Abort()
	}
	judged := x.judge(p, spec.JudgesRanks)
	x.srv.wg.Go(func() {
		<-p.Done()
		at := time.Now()
		if spec.EndsOnFailure && p.Status().Code != 0 && !x.ours.Load() {
			x.stopRest(p.Status(), at)
		}
		x.stdin.Abort()
		// A session lasts until its output has also ended: a child in the background may still be
		// writing.
		x.awaitOutput(out)
		x.conclude(p.Status(), at, <-judged)
		close(told)
	})
}

// conclude makes the exit record and sends it to the session's connection. at is when the process
// ended, which its output may have outlasted. failed is a rank that failed, or nil.
func (x *session) conclude(st reap.Status, at time.Time, failed *wire.RankRecord) {
	members := x.srv.observer.lookAt(x) // reports the ends of its ranks before its own
	unseen := x.srv.observer.unseen(x)
	if st.Code != 0 || x.ours.Load() {
		failed = nil
	}
	rec := proc.Ended(st, proc.MemoryKills(x.srv.cfg.Cgroup)-x.oom, at)
	rec.Failed, rec.Unseen, rec.Detached = failed, unseen, anyLives(members) || x.outlived()
	x.finish(&rec)
}

// outlived reports whether other processes live on after the first one. A process that was forked a
// moment ago and is in execve has no environment that identifies it, and its parent has ended.
// While there is such a stranger, outlived looks again. It also looks again if the stranger has
// turned out to belong to the session: a setsid command calls execve twice.
func (x *session) outlived() bool {
	for range 5 {
		members, err := x.tree.Find()
		if err != nil {
			x.srv.cfg.Log.Warn("cannot find the processes of a session", "session", x.id, "err", err)
		}
		if anyLives(members) {
			return true
		}
		if !x.strangers() {
			break
		}
		time.Sleep(4 * time.Millisecond)
	}
	return false
}

// anyLives reports whether one of the processes will still be alive in a moment: a process that has
// just closed the output may be exiting.
func anyLives(members []reap.Proc) bool {
	return slices.ContainsFunc(members, func(m reap.Proc) bool { return m.Alive() && !m.Exiting })
}

// strangers reports whether a process below us belongs to no session, or belongs to this one after
// all.
func (x *session) strangers() bool {
	below, err := proc.Below(x.srv.cfg.Reaper)()
	if err != nil {
		return false
	}
	for _, p := range below {
		if p.Alive() && !p.Exiting && (p.Marker == "" || p.Marker == x.id) {
			return true
		}
	}
	return false
}

// finish publishes rec as the end of the session, with the ends of its outputs.
func (x *session) finish(rec *wire.ExitRecord) {
	rec.Stdout, _ = x.stdout.Total()
	rec.Stderr, _ = x.stderr.Total()
	s := x.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Reason, rec.Asked = x.reason, x.asked
	x.exit = rec
	if rec.Detached {
		x.enter(detached)
	} else {
		x.enter(ended)
	}
	if c := x.conn.Load(); c != nil {
		c.record(wire.Exit, x.channel, rec)
	}
	// Under the lock, which the sender needs for output: all three go out together.
	x.stdout.End()
	x.stderr.End()
	s.dropLocked(x)
	s.kick()
}

// longestSentence limits an error in a record, in bytes. The error may name a PATH of 100 KiB, and a
// record too long for a frame would end the connection, again after each redial.
const longestSentence = 4 << 10

// sentence returns the text of an error, cut to longestSentence.
func sentence(text string) string {
	if len(text) > longestSentence {
		return text[:longestSentence] + "..."
	}
	return text
}

// fail ends a session whose process never ran.
func (x *session) fail(err error) {
	x.stdin.Abort()
	rec := proc.Unstarted(err)
	rec.Error = sentence(rec.Error)
	x.finish(&rec)
}

// signal sends sig to the first process and its group.
func (x *session) signal(sig syscall.Signal) {
	p := x.process()
	if p == nil {
		return
	}
	if err := p.SignalGroup(sig); err != nil {
		x.srv.cfg.Log.Debug("signal", "session", x.id, "signal", sig, "err", err)
	}
}
