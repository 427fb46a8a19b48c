//go:build linux

package session

import (
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

// Config of a Server; zero durations take the defaults named.
type Config struct {
	Job     string // refuse launchers of another job; empty: take any
	Version string
	Slots   int
	Env     []string // the sessions' environment, before their own additions
	Dir     string   // their working directory unless they say otherwise
	// SpoolDirs take spill files, the first that can; none: memory only.
	SpoolDirs []string
	SpoolSize int64 // 256 MiB: most bytes of all spill files
	// OOMScore is the sessions' oom_score_adj; 0 leaves it alone.
	OOMScore int
	Reaper   *reap.Reaper
	Log      *slog.Logger

	// PythonDir, if set, has a module that lets Python processes tell their stacks; it
	// comes first in the PYTHONPATH of sessions.
	PythonDir string

	Cgroup string // where the container sees its own cgroup: /sys/fs/cgroup

	HelloTimeout time.Duration // 10 s: a connection that says nothing
	DeadAfter    time.Duration // 15 s: a connection without a byte
	Grace        time.Duration // 5 s: between TERM and KILL where nobody says
	// OnPodGrace gets the time that the kubelet gives our pod to end, when a launcher has
	// told another one than before.
	OnPodGrace func(time.Duration)
	// Await is how long to wait for a launcher; 0: for ever. A worker that has a
	// launcher waits for the lease of that launcher, if it is longer.
	Await time.Duration
}

// Outcome is why the Server's work is over.
type Outcome int

// Outcomes.
const (
	JobOver  Outcome = iota // the launcher said so
	NoLaunch                // no launcher for Config.Await
	Deaf                    // no connection can be accepted any more
)

// Server owns the sessions of one worker.
type Server struct {
	cfg      Config
	begin    func(*session, wire.Spec) // starts a session: start
	instance string
	limits   flow.Limits
	noSpill  atomic.Bool // it has been said that no directory takes spill files
	outcome  chan Outcome
	nudge    chan struct{} // the clock has something new to look at
	orphans  chan struct{}
	observer *observer
	stops    *stopper
	wg       sync.WaitGroup

	// Locks: see observer.
	mu       sync.Mutex
	epoch    wire.Epoch
	claimed  bool
	conn     *conn
	sessions map[string]*session
	ruined   map[string]string // ids of sessions whose output is lost, and why
	ending   bool              // takes no new sessions
	owed     int               // ENDs that are not answered yet
	lease    time.Duration
	grace    time.Duration // the launcher's; 0: it did not say
	podGrace time.Duration // of our pod, by the launcher; 0: it did not say
	heard    time.Time     // last byte of the launcher
	swept    bool          // a lease has ended since the launcher came
}

// New returns a Server; Serve starts it.
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
		instance: wire.NewID(),
		limits:   flow.Limits{Floor: 128 << 10, Stream: 1 << 20, Memory: flow.NewBudget(64 << 20)},
		outcome:  make(chan Outcome, 1),
		nudge:    make(chan struct{}, 1),
		orphans:  make(chan struct{}, 1),
		sessions: map[string]*session{},
		ruined:   map[string]string{},
		heard:    time.Now(),
	}
	s.begin, s.observer, s.stops = s.start, newObserver(s), newStopper(s)
	if len(cfg.SpoolDirs) > 0 {
		s.limits.Files = &flow.Files{Dirs: cfg.SpoolDirs, Budget: flow.NewBudget(cfg.SpoolSize), Failed: s.spillFailed}
	}
	return s
}

// spillFailed says once what makes writers wait for their readers.
func (s *Server) spillFailed(err error) {
	if s.noSpill.CompareAndSwap(false, true) {
		s.cfg.Log.Warn("output that is not read stays in memory, and its writers wait", "err", err)
	}
}

// Outcome delivers once why the Server's work is over; the caller then cancels
// Serve.
func (s *Server) Outcome() <-chan Outcome { return s.outcome }

// Sessions counts sessions with living processes.
func (s *Server) Sessions() int {
	return len(s.living())
}

// living lists the sessions that may have living processes.
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

// named returns the session with that id, nil for none.
func (s *Server) named(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// isCurrent reports whether c is the launcher's connection.
func (s *Server) isCurrent(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn == c
}

// Signal sends sig to the first process of every session and to its process
// group; a session whose first process has ended gets none.
func (s *Server) Signal(sig syscall.Signal) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, x := range all {
		x.signal(sig)
	}
}

// Serve takes connections from ln until ctx ends, then closes ln and every
// connection and waits for all of its goroutines. Sessions should have been
// stopped before (Stop). If accepting fails for good, Outcome says Deaf, the
// present connection goes on, and Serve returns the error when ctx ends.
func (s *Server) Serve(ctx context.Context, ln *net.UnixListener) error {
	if ends, err := reap.NewEnds(); err != nil {
		s.cfg.Log.Warn("the ends of ranks will be told late", "err", err)
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
	err := shortage.Accept(ctx, ln, func(nc net.Conn) {
		s.wg.Go(func() { s.serveConn(ctx, nc.(*net.UnixConn)) })
	}, s.acceptTrouble)
	if err != nil {
		s.cfg.Log.Error("no launcher can connect any more", "err", err)
		s.over(Deaf)
		<-ctx.Done()
	}
	s.abandon()
	if s.observer.ends != nil {
		s.observer.ends.Close()
	}
	s.wg.Wait()
	return err
}

// acceptTrouble logs the begin and the end of a time without new connections.
func (s *Server) acceptTrouble(err error) {
	if err != nil {
		s.cfg.Log.Warn("cannot accept connections, trying again", "err", err, "hint", shortage.Hint(err))
		return
	}
	s.cfg.Log.Info("accepting connections again")
}

// serveConn carries one connection from its HELLO to its end.
func (s *Server) serveConn(ctx context.Context, nc *net.UnixConn) {
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	pid, err := checkPeer(nc)
	if err != nil {
		s.cfg.Log.Warn("refused a connection", "err", err)
		return
	}
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
	if err = s.checkDescent(pid); err == nil {
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

// abandon lets the goroutines of sessions end that could not be stopped.
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

// dropConn forgets c, if it is still the current one; its sessions live on.
func (s *Server) dropConn(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c {
		s.conn = nil
		s.observer.left()
	}
	s.kick()
}

// kick lets the clock look again.
func (s *Server) kick() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// hear notes that the launcher is there.
func (s *Server) hear() {
	s.mu.Lock()
	s.heard = time.Now()
	s.mu.Unlock()
}
