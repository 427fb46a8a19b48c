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
	conn     atomic.Pointer[conn] // nil while no connection has it
	started  chan struct{}        // closed when its process runs, or cannot
	ordered  chan struct{}        // there are orders
	dropped  chan struct{}        // closed when the server lets go of it

	// Under srv.mu.
	proc       *reap.Process // nil until it is started, and when it could not be
	pipes      pipes
	channel    uint32 // its number on conn
	stdinAcked uint64 // last acknowledgement sent on conn
	control    uint64 // highest control taken
	oom        int    // memoryKills before it began
	orders     []wire.ControlRecord
	forgotten  bool   // the launcher has its end, or does not want it
	reason     string // why we stopped it
	exit       *wire.ExitRecord
	detached   bool // the first process ended, members live on
	line       bool // it runs a line, as ssh has it
	inGroup    bool // its launcher ends the others when it fails

	sight sight // under the observer's mu

	left     bool // its output is held by processes that it does not wait for
	silenced bool // its output ends with what is in the pipes
	born     time.Time
	wrote    atomic.Int64      // when output came last, as a duration since born
	full     atomic.Int32      // outputs that wait for room
	ours     atomic.Bool       // we stop it: its processes' ends are our doing
	rest     chan struct{}     // as restStop returns it; under srv.mu
	asked    []wire.EndingRank // its ranks that a stop has asked to end; under srv.mu
	askedAt  time.Time         // when it has
}

// lives reports whether processes of the session may be alive.
func (x *session) lives() bool { return x.exit == nil || x.detached }

// over reports whether the first process has ended. Called with srv.mu held.
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

// awaitStart waits until the process is there, or could not be started, or ctx
// ends: execve may hang with the file system that the program lies on.
func (x *session) awaitStart(ctx context.Context) {
	select {
	case <-x.started:
	case <-ctx.Done():
	}
}

func (x *session) process() *reap.Process {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	return x.proc
}

// kick wakes the sender of whichever connection has the session. It is called
// with locks of flow held and must not block.
func (x *session) kick() {
	if c := x.conn.Load(); c != nil {
		c.kick()
	}
}

// ackStdin acknowledges what the process took.
func (x *session) ackStdin() {
	if c := x.conn.Load(); c != nil {
		c.lookForAcks()
	}
}

// newSession prepares a session; nothing runs yet.
func (s *Server) newSession(rec wire.OpenRecord) *session {
	x := &session{id: rec.ID, hash: rec.Hash, srv: s, born: time.Now(), tree: reap.NewTree(names.EnvSession, rec.ID),
		oom:     proc.MemoryKills(s.cfg.Cgroup),
		started: make(chan struct{}), ordered: make(chan struct{}, 1), dropped: make(chan struct{})}
	s.observer.add(x)
	x.stdin = flow.NewIn(wire.StreamWindow, x.ackStdin)
	x.stdout = flow.NewOut(wire.StreamWindow, s.limits, x.kick)
	x.stderr = flow.NewOut(wire.StreamWindow, s.limits, x.kick)
	return x
}

// run starts the session's goroutines around p. It is called once.
func (x *session) run(p *reap.Process, pipes pipes, spec wire.Spec) {
	x.srv.mu.Lock()
	x.proc, x.pipes = p, pipes
	x.srv.mu.Unlock()
	out, told := make(chan struct{}, 2), make(chan struct{})
	carry := func(r *os.File, to, other *flow.Out) {
		defer r.Close() // a writer with nobody to read gets SIGPIPE
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
		// A session lasts until its output has ended too: a child in the background
		// may still be writing.
		x.awaitOutput(out)
		x.ended(p.Status(), at, <-judged)
		close(told)
	})
}

// ended makes the exit record and sends it to whoever has the session. at is when
// the process ended: its output may have lasted longer. failed is a rank that failed, nil for none.
func (x *session) ended(st reap.Status, at time.Time, failed *wire.RankRecord) {
	members := x.srv.observer.lookAt(x) // its ranks' ends, before its own
	unseen := x.srv.observer.unseen(x)
	if st.Code != 0 || x.ours.Load() {
		failed = nil
	}
	detached := anyLives(members) || x.outlived()
	rec := proc.Ended(st, proc.MemoryKills(x.srv.cfg.Cgroup)-x.oom, at)
	rec.Failed, rec.Unseen, rec.Detached = failed, unseen, detached
	x.finish(&rec)
}

// outlived reports whether members live on after the first process. One that
// was forked a moment ago and is inside execve has no environment to be known
// by, and an ended parent: while there is such a stranger, look again; and where
// it is none any more, but one of ours: setsid and its like are inside two.
func (x *session) outlived() bool {
	for range 5 {
		members, err := x.tree.Find()
		if err != nil {
			x.srv.cfg.Log.Warn("look for members", "session", x.id, "err", err)
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

// anyLives reports whether one of them will be there a moment later: whoever has closed
// the output just now may still be on the way out.
func anyLives(members []reap.Proc) bool {
	return slices.ContainsFunc(members, func(m reap.Proc) bool { return m.Alive() && !m.Exiting })
}

// strangers reports whether somebody below us belongs to no session, or to this one
// after all.
func (x *session) strangers() bool {
	below, err := proc.Below()
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

// finish publishes rec as the end of the session, and its outputs' ends.
func (x *session) finish(rec *wire.ExitRecord) {
	rec.Stdout, _ = x.stdout.Total()
	rec.Stderr, _ = x.stderr.Total()
	s := x.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Reason, rec.Asked = x.reason, x.asked
	x.exit, x.detached = rec, rec.Detached
	if c := x.conn.Load(); c != nil {
		c.record(wire.Exit, x.channel, rec)
	}
	// Under the lock, which the sender needs for output: all three go out together.
	x.stdout.End()
	x.stderr.End()
	s.dropLocked(x)
	s.kick()
}

// longestSentence bounds what is said of a command that could not be started: it
// may name a PATH of 100 KiB, and a record that fits no frame ends the connection,
// again after each redial.
const longestSentence = 4 << 10

// fail ends a session whose process never ran.
func (x *session) fail(err error) {
	x.stdin.Abort()
	rec := proc.Unstarted(err)
	if len(rec.Error) > longestSentence {
		rec.Error = rec.Error[:longestSentence] + "..."
	}
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
