package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
)

const (
	defaultGrace = 5 * time.Second
	// requestTime is how long a stub may take to send its request.
	requestTime = 10 * time.Second
	// largeAtOnce limits the memory of large requests that are being read.
	largeAtOnce = 16
	// largeRequest is the size in bytes from which a request is large. A silent connection, or one
	// with a usual request, does not delay others.
	largeRequest = 64 << 10
)

// Resolver finds the worker that a host name means. Its error is for the user.
type Resolver interface {
	// Resolve returns the worker. host is as the user or mpirun wrote it.
	Resolve(host string) (Target, error)
}

// Target is one worker.
type Target struct {
	Name   string // name of the pod, for messages
	Opener Opener
}

// Opener opens sessions on one worker.
type Opener interface {
	// Open starts a session, or attaches to the one with that id. An empty id makes a new session.
	Open(ctx context.Context, id string, spec wire.Spec, s Streams) (Session, error)
}

// Session is a command that runs on a worker. An error of Wait means that the worker was lost. If
// Wait succeeds, every byte of output has been written.
type Session interface {
	// Wait returns the exit record once the command has ended.
	Wait(ctx context.Context) (wire.ExitRecord, error)
	// Stop ends every process of the session: TERM, and KILL after grace.
	Stop(grace time.Duration)
}

// Streams are the descriptors of one stub. Close of any of them ends a blocked Read or Write.
type Streams struct {
	Stdin          io.ReadCloser // nil if there is none
	Stdout, Stderr io.Writer
}

// Server serves the stubs of one launcher.
type Server struct {
	Resolver Resolver
	// Hosts returns the hosts in rank order; nil: none.
	Hosts func() []string
	// Stacks returns where the ranks with these numbers are, or all ranks; nil: none.
	Stacks func(ctx context.Context, ranks []string) []string
	// Doctor checks the workers again, and returns the findings, each as JSON; nil: none.
	Doctor func(ctx context.Context) []string
	// Top returns what the workers use, each as JSON; nil: nothing.
	Top func(ctx context.Context) []string
	// Grace is the time between TERM and KILL for a session whose stub has died; 0: 5 s.
	Grace time.Duration
	// OnCall, if set, is called before a session with that id is opened, with its command and the
	// process id of the stub.
	OnCall func(worker, id, command string, pid int)
	// OnRefused, if set, is called before a stub is told that its host is no worker, or is
	// ambiguous. pid is the process id of the stub.
	OnRefused func(pid int, err error)
	// OnLeft, if set, is called when the stub of a session ended before the session.
	OnLeft func(id string)
	// OnExit, if set, is called once for each session that was requested on a known host. It gets
	// the exit record, or the error that prevented opening or following the session. It may be
	// called by several goroutines at once.
	OnExit func(worker, id string, exit wire.ExitRecord, err error)
	// OnTrouble, if set, is called when no stub can connect because of a resource shortage, and
	// with nil when the shortage has ended.
	OnTrouble func(err error)
}

// Serve answers stubs on l until ctx ends. Then it closes l, releases every session without
// stopping it, waits for its goroutines and returns nil. If accepting fails permanently, Serve
// closes l, so that later stubs fail at once. It then follows the existing sessions to their ends,
// and returns the error.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	large := make(chan struct{}, largeAtOnce)
	err := shortage.Accept(ctx, l, func(conn net.Conn) {
		group.Go(func() { s.handle(ctx, conn.(*net.UnixConn), large) })
	}, func(err error) {
		if s.OnTrouble != nil {
			s.OnTrouble(err)
		}
	})
	if err != nil {
		l.Close()
	}
	group.Wait()
	return err
}

// handle serves one connection.
func (s *Server) handle(ctx context.Context, conn *net.UnixConn, large chan struct{}) {
	defer conn.Close()
	uid, pid, err := rundir.PeerCred(conn)
	if err != nil || uid != os.Getuid() && uid != 0 {
		return
	}
	ask, err := receive(ctx, conn, large)
	if err != nil {
		if ctx.Err() == nil {
			answer(conn, refusal(err))
		}
		return
	}
	switch ask.kind {
	case rsh.KindHosts:
		answer(conn, rsh.Reply{Lines: list(s.Hosts)})
	case rsh.KindStacks:
		answer(conn, rsh.Reply{Lines: s.stacks(ctx, ask.Command)})
	case rsh.KindDoctor:
		answer(conn, rsh.Reply{Lines: asked(ctx, s.Doctor)})
	case rsh.KindTop:
		answer(conn, rsh.Reply{Lines: asked(ctx, s.Top)})
	default:
		answer(conn, s.run(ctx, conn, ask, pid))
	}
}

func (s *Server) stacks(ctx context.Context, ranks string) []string {
	if s.Stacks == nil {
		return nil
	}
	return s.Stacks(ctx, strings.Fields(ranks))
}

// asked calls f unless it is nil.
func asked(ctx context.Context, f func(context.Context) []string) []string {
	if f == nil {
		return nil
	}
	return f(ctx)
}

func list(f func() []string) []string {
	if f == nil {
		return nil
	}
	return f()
}

// run opens the session, follows it to its end, and returns the reply.
func (s *Server) run(ctx context.Context, conn *net.UnixConn, ask request, pid int) rsh.Reply {
	p, err := adoptAll(ask)
	if err != nil {
		return refusal(err)
	}
	defer p.close()
	target, err := s.Resolver.Resolve(ask.Host)
	if err != nil {
		if s.OnRefused != nil {
			s.OnRefused(pid, err)
		}
		return refusal(err)
	}
	id := rand.Text()
	if s.OnCall != nil {
		s.OnCall(target.Name, id, ask.Command, pid)
	}
	exit, err := s.follow(ctx, conn, target, id, ask.Command, p)
	if s.OnExit != nil {
		s.OnExit(target.Name, id, exit, err)
	}
	return unprinted(reply(target.Name, exit, err), p.lost.err())
}

// follow opens one session, and waits for its end or for that of the stub.
func (s *Server) follow(ctx context.Context, conn *net.UnixConn, t Target, id, line string, p *passed) (wire.ExitRecord, error) {
	opening, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := watch(conn, func() {
		if s.OnLeft != nil && ctx.Err() == nil {
			s.OnLeft(id)
		}
		cancel()
		p.close()
	})
	defer gone.end()
	spec := wire.Spec{Line: line, Stdin: p.stdin != nil}
	session, err := t.Opener.Open(opening, id, spec, p.streams())
	if err != nil {
		return wire.ExitRecord{}, err
	}
	grace := s.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	// The stub may have died while the session was opened. The session then stops at once.
	stop := context.AfterFunc(opening, func() {
		if ctx.Err() == nil {
			session.Stop(grace)
		}
	})
	exit, err := session.Wait(ctx)
	stop()
	return exit, err
}

// watcher detects the end of a stub. A stub sends nothing after its request, so any return of a
// read is its end.
type watcher struct {
	conn  *net.UnixConn
	ended chan struct{}
}

func watch(conn *net.UnixConn, gone func()) *watcher {
	w := &watcher{conn: conn, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		var b [1]byte
		if _, err := conn.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
		}
	}()
	return w
}

// end stops the watcher and waits for its goroutine.
func (w *watcher) end() {
	_ = w.conn.SetReadDeadline(time.Unix(1, 0)) // an error means that it is closed, which ends the goroutine too
	<-w.ended
}

// answer sends the reply. A stub that does not read it in time is considered dead.
func answer(conn *net.UnixConn, r rsh.Reply) {
	if conn.SetWriteDeadline(time.Now().Add(requestTime)) == nil {
		_, _ = conn.Write(rsh.AppendReply(nil, r))
	}
}

// refusal returns the reply to a call that did not reach a worker.
func refusal(err error) rsh.Reply {
	return rsh.Reply{Code: names.ExitTransport, Lines: sentences(err.Error(), err)}
}
