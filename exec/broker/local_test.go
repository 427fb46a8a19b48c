//go:build linux

package broker

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// local is an Opener that runs sessions as processes of this machine.
type local struct {
	mu       sync.Mutex
	sessions []*process
	opened   chan *process
}

func newLocal() *local { return &local{opened: make(chan *process, 1000)} }

// process is a session that runs a shell in its own process group.
type process struct {
	cmd      *exec.Cmd
	id       string
	spec     wire.Spec
	ended    chan struct{}
	exit     wire.ExitRecord
	stopped  chan struct{} // closed by the first Stop
	stopOnce sync.Once
	writeErr error // first error of a write to stdout
}

func (l *local) Open(_ context.Context, id string, spec wire.Spec, s Streams) (Session, error) {
	p := &process{cmd: exec.Command("/bin/sh", "-c", spec.Line), id: id, spec: spec, ended: make(chan struct{}), stopped: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	var stdin io.WriteCloser
	if s.Stdin != nil {
		if stdin, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.follow(s, stdin, stdout, stderr)
	l.mu.Lock()
	l.sessions = append(l.sessions, p)
	l.mu.Unlock()
	l.opened <- p
	return p, nil
}

func (p *process) follow(s Streams, stdin io.WriteCloser, stdout, stderr io.Reader) {
	defer close(p.ended)
	var in, out sync.WaitGroup
	if stdin != nil {
		in.Go(func() {
			_, _ = io.Copy(stdin, s.Stdin)
			stdin.Close()
		})
	}
	out.Go(func() {
		_, p.writeErr = io.Copy(s.Stdout, stdout)
		_, _ = io.Copy(io.Discard, stdout)
	})
	out.Go(func() {
		_, _ = io.Copy(s.Stderr, stderr)
		_, _ = io.Copy(io.Discard, stderr)
	})
	out.Wait()
	_ = p.cmd.Wait()
	if s.Stdin != nil {
		s.Stdin.Close()
	}
	in.Wait()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		p.exit = wire.ExitRecord{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	} else {
		p.exit = wire.ExitRecord{Code: status.ExitStatus()}
	}
}

func (p *process) Wait(ctx context.Context) (wire.ExitRecord, error) {
	select {
	case <-p.ended:
		return p.exit, nil
	case <-ctx.Done():
		return wire.ExitRecord{}, ctx.Err()
	}
}

func (p *process) Stop(grace time.Duration) {
	p.stopOnce.Do(func() {
		close(p.stopped)
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
		time.AfterFunc(grace, func() {
			select {
			case <-p.ended:
			default:
				_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			}
		})
	})
}

// failing is an Opener that rejects every session.
type failing struct{ err error }

func (f failing) Open(context.Context, string, wire.Spec, Streams) (Session, error) {
	return nil, f.err
}

// scripted is an Opener whose sessions end at once with a record or an error.
type scripted struct {
	exit    wire.ExitRecord
	err     error
	stopped chan struct{}
}

func (s scripted) Open(context.Context, string, wire.Spec, Streams) (Session, error) { return s, nil }
func (s scripted) Wait(context.Context) (wire.ExitRecord, error)                     { return s.exit, s.err }
func (s scripted) Stop(time.Duration)                                                { close(s.stopped) }

// serve starts a server with the host "w-0" on opener, and stops the server at the end of the test.
func serve(t *testing.T, s *Server, opener Opener) (socket string, end func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "broker")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	l, err := rundir.Listen(socket)
	require.NoError(t, err)
	if s.Resolver == nil {
		hosts := &Hosts{}
		hosts.Add(Target{Name: "w-0", Opener: opener}, "198.18.0.2")
		s.Resolver = hosts
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	var once sync.Once
	end = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-served)
		})
	}
	t.Cleanup(end)
	return socket, end
}

// call returns the command of a stub process.
func call(socket string, words ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, words...)
	cmd.Env = append(os.Environ(), stubVariable+"="+socket)
	return cmd
}

// codeOf runs a stub until it ends and returns its exit code.
func codeOf(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var ended *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &ended) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode()
}
