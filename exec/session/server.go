//go:build linux

package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
)

// Config configures a Server. A zero duration means the default in the field's comment.
type Config struct {
	Job     string // launchers of other jobs are refused; empty: accept any
	Version string
	// Instance names this server in WELCOME; default: a new id.
	Instance string
	Slots    int
	Env      []string // the sessions' environment, before their own additions
	Dir      string   // the sessions' default working directory
	// SpoolDirs are the directories for spill files, tried in this order; none: memory only.
	SpoolDirs []string
	SpoolSize int64 // 256 MiB: most bytes of all spill files
	// OOMScore is the sessions' oom_score_adj; 0 leaves it unchanged.
	OOMScore int
	Reaper   *reap.Reaper
	Log      *slog.Logger

	// PythonDir, if set, is the directory of a module that lets Python processes report their
	// stacks. It comes first in the PYTHONPATH of sessions.
	PythonDir string

	Cgroup string // path of the container's own cgroup: default /sys/fs/cgroup

	HelloTimeout time.Duration // 10 s: limit for a connection without HELLO
	DeadAfter    time.Duration // 15 s: limit for a connection without a byte
	Grace        time.Duration // 5 s: time between TERM and KILL if not specified otherwise
	// OnPodGrace is called with the termination grace period of our pod when a launcher reports a
	// value other than the previous one.
	OnPodGrace func(time.Duration)
	// Await is how long to wait for a launcher; 0: forever. If the lease of a launcher that has
	// connected is longer, the lease applies.
	Await time.Duration
	// Network is another source of launchers besides the socket; nil: none.
	Network Network
}

// Network accepts connections whose far end has proved that it is a launcher.
type Network interface {
	// Serve calls take for each connection, in a goroutine of its own, with the job and the epoch that
	// its far end has proved. It returns when ctx has ended and each take has returned.
	Serve(ctx context.Context, take func(nc net.Conn, job string, epoch wire.Epoch)) error
}

// Outcome says why the Server's work is over.
type Outcome int

// Outcomes.
const (
	JobOver  Outcome = iota // the launcher said so
	NoLaunch                // no launcher for Config.Await
	Deaf                    // no connection can be accepted any longer
	Replaced                // the launcher said so, and wants another worker in this one's place
)

// Server owns the sessions of one worker.
type Server struct {
	cfg      Config
	begin    func(*session, wire.Spec) // starts a session; it is the method start
	instance string
	limits   flow.Limits
	noSpill  atomic.Bool // spillFailed has logged that no directory takes spill files
	outcome  chan Outcome
	nudge    chan struct{} // wakes the clock
	orphans  chan struct{}
	observer *observer
	stops    *stopper
	surveyor *surveyor
	wg       sync.WaitGroup
	lookups  lookups

	// See observer for the lock order.
	mu       sync.Mutex
	epoch    wire.Epoch
	claimed  bool
	conn     *conn
	sessions map[string]*session
	ruined   map[string]string // ids of sessions whose output is lost, with the reason
	ending   bool              // takes no new sessions
	why      string            // why the launcher replaces us, in its word
	owed     int               // number of ENDs and orders to ask ranks without an answer
	lease    time.Duration
	grace    time.Duration // the launcher's grace; 0: not specified
	podGrace time.Duration // the pod's grace period according to the launcher; 0: not specified
	heard    time.Time     // time of the launcher's last byte
	swept    bool          // a lease has expired since the launcher connected
}

// New returns a Server. Serve starts it.
func New(cfg Config) *Server {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if cfg.Cgroup == "" {
		cfg.Cgroup = proc.Cgroup
	}
	set(&cfg.HelloTimeout, 10*time.Second)
	set(&cfg.DeadAfter, 15*time.Second)
	set(&cfg.Grace, 5*time.Second)
	if cfg.SpoolSize == 0 {
		cfg.SpoolSize = 256 << 20
	}
	s := &Server{
		cfg:      cfg,
		instance: cmp.Or(cfg.Instance, wire.NewID()),
		limits:   flow.Limits{Floor: 128 << 10, Stream: 1 << 20, Memory: flow.NewBudget(64 << 20)},
		outcome:  make(chan Outcome, 1),
		nudge:    make(chan struct{}, 1),
		orphans:  make(chan struct{}, 1),
		sessions: map[string]*session{},
		ruined:   map[string]string{},
		heard:    time.Now(),
		lookups:  lookups{limit: lookupTime},
	}
	s.begin, s.observer, s.stops, s.surveyor = s.start, newObserver(s), newStopper(s), &surveyor{srv: s}
	if len(cfg.SpoolDirs) > 0 {
		s.limits.Files = &flow.Files{Dirs: cfg.SpoolDirs, Budget: flow.NewBudget(cfg.SpoolSize), Failed: s.spillFailed}
	}
	return s
}

// spillFailed logs, once, why writers wait for their readers.
func (s *Server) spillFailed(err error) {
	if s.noSpill.CompareAndSwap(false, true) {
		s.cfg.Log.Warn("cannot spill output to disk; writers will block until it is read", "err", err)
	}
}

// Outcome returns a channel that says, once, why the Server's work is over. The caller then cancels
// Serve.
func (s *Server) Outcome() <-chan Outcome { return s.outcome }

// Sessions returns the number of sessions that may have live processes.
func (s *Server) Sessions() int {
	return len(s.living())
}

// living lists the sessions that may have live processes.
func (s *Server) living() (all []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if x.lives() {
			all = append(all, x)
		}
	}
	return all
}

// named returns the session with that id, or nil.
func (s *Server) named(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// isCurrent reports whether c is the launcher's current connection.
func (s *Server) isCurrent(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn == c
}

// Signal sends sig to the first process of every session and to its process group. It skips a
// session whose first process has ended.
func (s *Server) Signal(sig syscall.Signal) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, x := range all {
		x.signal(sig)
	}
}

// Serve accepts connections from ln until ctx ends. It then closes ln and every connection, and
// waits for its goroutines. It leaves those behind that hang with a file system (lookups.go). The
// caller should have stopped the sessions before (Stop). If accept fails for good, Outcome delivers
// Deaf, the current connection continues, and Serve returns the error when ctx ends.
func (s *Server) Serve(ctx context.Context, ln *net.UnixListener) error {
	if ends, err := reap.NewEnds(); err != nil {
		s.cfg.Log.Warn("the ends of ranks will be reported late", "err", err)
	} else {
		s.observer.ends = ends
		s.wg.Go(ends.Follow)
	}
	s.wg.Go(func() { s.clock(ctx) })
	s.wg.Go(func() { s.observer.look(ctx) })
	stop := context.AfterFunc(ctx, func() {
		ln.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.conn != nil {
			s.conn.close()
		}
	})
	defer stop()
	if s.cfg.Network != nil {
		s.wg.Go(func() {
			// Its own log has the error, and launchers can still connect to the socket.
			_ = s.cfg.Network.Serve(ctx, func(nc net.Conn, job string, epoch wire.Epoch) { s.serveProved(ctx, nc, job, epoch) })
		})
	}
	err := shortage.Accept(ctx, ln, func(nc net.Conn) {
		s.wg.Go(func() { s.serveConn(ctx, nc.(*net.UnixConn)) })
	}, s.acceptTrouble)
	if err != nil {
		s.cfg.Log.Error("launchers can no longer connect", "err", err)
		s.over(Deaf)
		<-ctx.Done()
	}
	s.abandon()
	if s.observer.ends != nil {
		s.observer.ends.Close()
	}
	s.wait()
	return err
}

// acceptTrouble logs when new connections cannot be accepted, and when they can be again.
func (s *Server) acceptTrouble(err error) {
	if err != nil {
		s.cfg.Log.Warn("cannot accept connections: retrying", "err", err, "hint", shortage.Hint(err))
		return
	}
	s.cfg.Log.Info("accepting connections again")
}

// serveConn serves one connection of the socket, from its HELLO to its end.
func (s *Server) serveConn(ctx context.Context, nc *net.UnixConn) {
	pid, err := checkPeer(nc)
	if err != nil {
		nc.Close()
		s.cfg.Log.Warn("refused a connection", "err", err)
		return
	}
	s.serveLauncher(ctx, nc, func(wire.HelloRecord) error { return s.checkDescent(pid) })
}

// serveProved serves one connection of the network, from its HELLO to its end.
func (s *Server) serveProved(ctx context.Context, nc net.Conn, job string, epoch wire.Epoch) {
	s.serveLauncher(ctx, nc, func(h wire.HelloRecord) error { return s.checkProof(h, job, epoch) })
}

// serveLauncher serves a connection whose HELLO check accepts.
func (s *Server) serveLauncher(ctx context.Context, nc net.Conn, check func(wire.HelloRecord) error) {
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	c := newConn(s, nc)
	hello, err := c.readHello()
	if err != nil {
		s.cfg.Log.Debug("connection without a valid hello", "err", err)
		return
	}
	if hello.Probe {
		c.refuse(s.probed())
		return
	}
	var welcome wire.WelcomeRecord
	if err = check(hello); err == nil {
		welcome, err = s.admit(ctx, c, hello)
	}
	if err != nil {
		var r *refusal
		if errors.As(err, &r) {
			c.refuse(r.record)
		}
		s.cfg.Log.Warn("refused a launcher", "err", err)
		return
	}
	s.cfg.Log.Debug("link up", "launcher", hello.Epoch.UID, "proto", welcome.Proto)
	err = c.serve(welcome)
	s.dropConn(c)
	s.cfg.Log.Debug("link down", "err", err)
}

// abandon ends the goroutines of sessions that could not be stopped.
func (s *Server) abandon() {
	s.mu.Lock()
	var all []*session
	for id, x := range s.sessions {
		all = append(all, x)
		delete(s.sessions, id)
	}
	s.observer.close()
	s.mu.Unlock()
	for _, x := range all {
		x.stdout.Discard()
		x.stderr.Discard()
		x.endOutput()
		close(x.dropped)
	}
}

// dropConn drops c if it is still the current connection. Its sessions live on.
func (s *Server) dropConn(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c {
		s.conn = nil
		s.observer.left()
	}
	s.kick()
}

// kick wakes the clock.
func (s *Server) kick() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// hear records a sign of life of the launcher.
func (s *Server) hear() {
	s.mu.Lock()
	s.heard = time.Now()
	s.mu.Unlock()
}
