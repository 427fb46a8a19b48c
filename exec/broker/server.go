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
	// requestTime is how long a stub may take to say what it wants.
	requestTime = 10 * time.Second
	// largeAtOnce bounds the memory of large requests that are being read.
	largeAtOnce = 16
	// largeRequest is the size in bytes from which a request is large. A silent
	// connection, or one with a usual request, waits for no other.
	largeRequest = 64 << 10
)

// Resolver finds the worker that a host name means. Its error is shown to the user.
type Resolver interface {
	Resolve(host string) (Target, error)
}

// Target is one worker.
type Target struct {
	Name   string // in messages: the pod's name
	Opener Opener
}

// Opener opens sessions on one worker.
type Opener interface {
	Open(ctx context.Context, id string, spec wire.Spec, s Streams) (Session, error)
}

// Session is a command that runs on a worker. Wait's error means that the
// worker was lost; without one, every byte of output has been written.
type Session interface {
	Wait(ctx context.Context) (wire.ExitRecord, error)
	Stop(grace time.Duration)
}

// Streams are the descriptors of one stub. Close of any of them ends a Read or
// Write that waits.
type Streams struct {
	Stdin          io.ReadCloser // nil: none
	Stdout, Stderr io.Writer
}

// Server serves the stubs of one launcher.
type Server struct {
	Resolver Resolver
	// Hosts tells the hosts, ranked; nil: none.
	Hosts func() []string
	// Stacks tells where the ranks with these numbers stand, or all; nil: none.
	Stacks func(ctx context.Context, ranks []string) []string
	// Grace is what a session gets between TERM and KILL when its stub has
	// died; 0: 5 s.
	Grace time.Duration
	// OnCall, if set, is called before a session of that id is asked for, with
	// its command and the stub's process id.
	OnCall func(worker, id, command string, pid int)
	// OnRefused, if set, is called before a stub is told that its host is no worker, or
	// is ambiguous, with the stub's process id.
	OnRefused func(pid int, err error)
	// OnLeft, if set, is called when the stub of a session ended before it did.
	OnLeft func(id string)
	// OnExit is called once for each session that was asked for on a known
	// host: with its exit record, or with the error that kept it from being
	// opened or followed. It may be called from several goroutines at once.
	OnExit func(worker, id string, exit wire.ExitRecord, err error)
	// OnTrouble, if set, is called when no stub can connect because of a shortage,
	// and with nil when it is over.
	OnTrouble func(err error)
}

// Serve answers stubs on l until ctx ends; then it closes l, lets go of every
// session without stopping it, waits for its goroutines and returns nil. If
// accepting fails for good, Serve closes l, so that later stubs fail at once,
// follows the sessions there are to their ends, and returns the error.
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

func list(f func() []string) []string {
	if f == nil {
		return nil
	}
	return f()
}

// run opens the session, follows it to its end and makes the answer.
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

// follow opens one session and waits for its end, or for the stub's.
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
	// The session may be opened and the stub dead by now: then it stops at once.
	stop := context.AfterFunc(opening, func() {
		if ctx.Err() == nil {
			session.Stop(grace)
		}
	})
	exit, err := session.Wait(ctx)
	stop()
	return exit, err
}

// watcher tells when a stub is gone: it sends nothing after its request, so
// whatever a read returns is the end of it.
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

// end stops watching and waits for the goroutine.
func (w *watcher) end() {
	_ = w.conn.SetReadDeadline(time.Unix(1, 0)) // else it is closed, which ends the goroutine too
	<-w.ended
}

// answer sends the reply. A stub that does not take it within the time is gone.
func answer(conn *net.UnixConn, r rsh.Reply) {
	if conn.SetWriteDeadline(time.Now().Add(requestTime)) == nil {
		_, _ = conn.Write(rsh.AppendReply(nil, r))
	}
}

// refusal is the answer of a call that never reached a worker.
func refusal(err error) rsh.Reply {
	return rsh.Reply{Code: names.ExitTransport, Lines: sentences(err.Error(), err)}
}
