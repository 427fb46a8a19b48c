//go:build linux

package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

func TestExitCodesAndOutput(t *testing.T) {
	var mu sync.Mutex
	ends := map[string]wire.ExitRecord{}
	backend := newLocal()
	socket, _ := serve(t, &Server{OnExit: func(worker, id string, exit wire.ExitRecord, err error) {
		mu.Lock()
		defer mu.Unlock()
		require.NoError(t, err)
		require.Equal(t, "w-0", worker)
		ends[id] = exit
	}}, backend)
	for line, code := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -9 $$": 137, "cat; echo out; echo err >&2; exit 3": 3} {
		cmd := call(socket, "-x", "user@198.18.0.2", "-o", "A=b", line)
		var stdout, stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in\n"), &stdout, &stderr
		require.Equal(t, code, codeOf(t, cmd), line)
		if code == 3 {
			require.Equal(t, "in\nout\n", stdout.String())
			require.Equal(t, "err\n", stderr.String())
		} else {
			require.Empty(t, stdout.String()+stderr.String())
		}
	}
	require.Len(t, ends, 5)
	for _, p := range backend.sessions {
		require.Equal(t, p.exit, ends[p.id])
		require.True(t, p.spec.Stdin)
	}
}

func TestEndsWithAMessage(t *testing.T) {
	for name, c := range map[string]struct {
		opener Opener
		code   int
		want   string
	}{
		"command not found":      {scripted{exit: wire.ExitRecord{Code: 127, Error: "nope: not found"}}, 127, "agent: worker w-0: nope: not found\n"},
		"preempted":              {scripted{exit: wire.ExitRecord{Code: 143, Signal: 15, Reason: "preempted"}}, 143, "agent: worker w-0: the command was ended: preempted\n"},
		"worker lost":            {scripted{err: errors.New("lost: link down for 15m")}, 255, "agent: worker w-0: lost: link down for 15m\n"},
		"error names the worker": {scripted{err: errors.New("worker w-0 lost: pod is gone")}, 255, "agent: worker w-0 lost: pod is gone\n"},
		"not opened":             {failing{errors.New("gone")}, 255, "agent: worker w-0: gone\n"},
		"no exit code":           {scripted{exit: wire.ExitRecord{Code: 256}}, 255, "agent: worker w-0: the command ended without an exit code\n"},
		"lost is never 0":        {scripted{exit: wire.ExitRecord{Code: 0}, err: errors.New("lost")}, 255, "agent: worker w-0: lost\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []error
			socket, end := serve(t, &Server{OnExit: func(_, id string, _ wire.ExitRecord, err error) {
				require.NotEmpty(t, id)
				calls = append(calls, err)
			}}, c.opener)
			cmd := call(socket, "w-0", "x")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.Equal(t, c.code, codeOf(t, cmd))
			require.Equal(t, c.want, stderr.String())
			end()
			require.Len(t, calls, 1)
		})
	}
}

func TestUnknownHost(t *testing.T) {
	var refused []error
	var stub int
	socket, end := serve(t, &Server{
		OnExit:    func(string, string, wire.ExitRecord, error) { t.Error("a session was opened for an unknown host") },
		OnRefused: func(pid int, err error) { stub, refused = pid, append(refused, err) },
	}, newLocal())
	cmd := call(socket, "w-9", "x")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.Equal(t, 255, codeOf(t, cmd))
	end()
	require.Equal(t, cmd.Process.Pid, stub)
	require.Equal(t, []error{&UnknownHostError{Host: "w-9", Known: []string{"w-0"}}}, refused)
	require.Equal(t, "agent: unknown host \"w-9\": the workers are w-0\n", stderr.String())
}

// TestDetachedSessionIsNotStopped checks that a daemonized orted keeps running when its stub ends.
func TestDetachedSessionIsNotStopped(t *testing.T) {
	opener := scripted{exit: wire.ExitRecord{Detached: true}, stopped: make(chan struct{})}
	socket, end := serve(t, &Server{}, opener)
	require.Equal(t, 0, codeOf(t, call(socket, "w-0", "x")))
	end()
	select {
	case <-opener.stopped:
		t.Fatal("the detached session was stopped")
	default:
	}
}

func TestKilledStubEndsItsSession(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		signal syscall.Signal
		code   int
	}{
		"KILL":                       {"echo up; exec sleep 600", syscall.SIGKILL, 143},
		"TERM":                       {"echo up; exec sleep 600", syscall.SIGTERM, 143},
		"KILL, stdin is idle":        {"echo up; exec cat", syscall.SIGKILL, 143},
		"KILL, output is blocked":    {"echo up; exec yes", syscall.SIGKILL, 143},
		"KILL, command ignores TERM": {"trap '' TERM; echo up; while :; do sleep 0.05; done", syscall.SIGKILL, 137},
	} {
		t.Run(name, func(t *testing.T) {
			exits := make(chan wire.ExitRecord, 1)
			backend := newLocal()
			socket, _ := serve(t, &Server{
				Grace:  200 * time.Millisecond,
				OnExit: func(_, _ string, exit wire.ExitRecord, _ error) { exits <- exit },
			}, backend)
			inR, inW, err := os.Pipe()
			require.NoError(t, err)
			defer inW.Close()
			outR, outW, err := os.Pipe()
			require.NoError(t, err)
			defer outR.Close()
			cmd := call(socket, "w-0", c.line)
			cmd.Stdin, cmd.Stdout = inR, outW
			require.NoError(t, cmd.Start())
			inR.Close()
			outW.Close()
			up := make([]byte, 3)
			_, err = io.ReadFull(outR, up)
			require.NoError(t, err)
			require.NoError(t, cmd.Process.Signal(c.signal))
			_ = cmd.Wait()
			<-(<-backend.opened).stopped
			require.Equal(t, c.code, (<-exits).Code)
			// No process holds the pipes anymore, so mpirun would notice the end.
			_, err = io.Copy(io.Discard, outR)
			require.NoError(t, err)
			_, err = inW.Write([]byte("x"))
			require.ErrorIs(t, err, syscall.EPIPE)
		})
	}
}

// TestPipesCloseBeforeTheExitCode checks that the pipes are closed before the stub gets the exit
// code, because MPICH waits for the end of file.
func TestPipesCloseBeforeTheExitCode(t *testing.T) {
	socket, _ := serve(t, &Server{}, newLocal())
	for range 20 {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		code, err := rsh.Call(socket, rsh.Request{Host: "w-0", Command: "echo x", NoStdin: true}, [3]int{-1, int(w.Fd()), 2})
		require.NoError(t, err)
		require.Equal(t, 0, code)
		w.Close()
		fd := int(r.Fd())
		require.NoError(t, syscall.SetNonblock(fd, true))
		var b [9]byte
		n, err := syscall.Read(fd, b[:])
		require.NoError(t, err)
		require.Equal(t, "x\n", string(b[:n]))
		n, err = syscall.Read(fd, b[:])
		require.NoError(t, err, "a copy of the pipe is still open")
		require.Zero(t, n)
		r.Close()
	}
}

func TestTwoHundredConcurrentSessions(t *testing.T) {
	const count = 200
	backend := newLocal()
	socket, end := serve(t, &Server{}, backend)
	before := openDescriptors(t)
	payload := strings.Repeat("0123456789abcdef", 4096) // as much as a pipe holds
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() {
			inR, inW, err := os.Pipe()
			require.NoError(t, err)
			outR, outW, err := os.Pipe()
			require.NoError(t, err)
			go func() {
				_, _ = io.WriteString(inW, payload)
				inW.Close()
			}()
			var got []byte
			read := make(chan struct{})
			go func() {
				defer close(read)
				got, _ = io.ReadAll(outR)
			}()
			line := fmt.Sprintf("cat; exit %d", i)
			code, err := rsh.Call(socket, rsh.Request{Host: "W-0.svc.cluster.local", Command: line}, [3]int{int(inR.Fd()), int(outW.Fd()), 2})
			inR.Close()
			outW.Close()
			<-read
			outR.Close()
			require.NoError(t, err)
			require.Equal(t, i, code)
			require.Equal(t, payload, string(got))
		})
	}
	group.Wait()
	require.Len(t, backend.sessions, count)
	ids := map[string]bool{}
	for _, p := range backend.sessions {
		ids[p.id] = true
	}
	require.Len(t, ids, count)
	require.Eventually(t, func() bool { return openDescriptors(t) <= before }, 5*time.Second, 10*time.Millisecond, "descriptors were leaked")
	end()
}

func TestStubsEndWithTheLauncher(t *testing.T) {
	backend := newLocal()
	socket, end := serve(t, &Server{}, backend)
	cmd := call(socket, "-n", "w-0", "exec sleep 600")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	p := <-backend.opened
	require.False(t, p.spec.Stdin)
	end()
	_ = cmd.Wait()
	require.Equal(t, 255, cmd.ProcessState.ExitCode())
	require.Equal(t, "agent: worker w-0: the launcher ended before the command did\n", stderr.String())
	select {
	case <-p.stopped:
		t.Fatal("the broker stopped the session, but that is the launcher's decision")
	default:
	}
	p.Stop(0)
	<-p.ended
}

func TestStacksAndHosts(t *testing.T) {
	hosts := &Hosts{}
	for i := range 3 {
		hosts.Add(Target{Name: fmt.Sprintf("w-%d", i)})
	}
	big := "BIG=" + strings.Repeat("x", 1<<20)
	socket, end := serve(t, &Server{Resolver: hosts, Hosts: hosts.List, Stacks: func(context.Context, []string) []string { return []string{"A=b c", big, "N=\n"} }}, nil)
	stacks, err := rsh.Stacks(socket, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"A=b c", big, "N=\n"}, stacks)
	list, err := rsh.Hosts(socket)
	require.NoError(t, err)
	require.Equal(t, []string{"w-0", "w-1", "w-2"}, list)
	end()
	_, err = rsh.Hosts(socket)
	require.ErrorContains(t, err, "no launcher runs here")
}

func TestMalformedRequestsAreAnsweredAndLeakNothing(t *testing.T) {
	socket, _ := serve(t, &Server{}, newLocal())
	run := rsh.AppendRequest(nil, rsh.KindRun, rsh.Request{Host: "w-0", Command: "echo never"})
	quiet := rsh.AppendRequest(nil, rsh.KindHosts, rsh.Request{})
	before := openDescriptors(t)
	for name, c := range map[string]struct {
		frame []byte
		fds   []int
	}{
		"no descriptors":                   {run, nil},
		"two descriptors instead of three": {run, []int{0, 1}},
		"four descriptors":                 {run, []int{0, 1, 2, 0}},
		"unexpected descriptors":           {quiet, []int{1}},
		"nonsense":                         {[]byte{0, 0, 0, 3, 'x', 'y', 'z'}, []int{0, 1, 2}},
		"trailing bytes":                   {append(bytes.Clone(quiet), 0), nil},
		"length too large":                 {[]byte{0xff, 0xff, 0xff, 0xff}, nil},
		"incomplete request":               {run[:len(run)-1], []int{0, 1, 2}},
		"no request":                       {nil, nil},
	} {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
		require.NoError(t, err)
		if len(c.frame) > 0 {
			_, _, err = conn.WriteMsgUnix(c.frame, syscall.UnixRights(c.fds...), nil)
			require.NoError(t, err, name)
		}
		require.NoError(t, conn.CloseWrite())
		answer, err := io.ReadAll(conn)
		require.NoError(t, err, name)
		reply, err := rsh.ParseReply(answer[4:])
		require.NoError(t, err, name)
		require.Equal(t, 255, reply.Code, name)
		require.Contains(t, reply.Lines[0], "read request: ", name)
		conn.Close()
	}
	require.Eventually(t, func() bool { return openDescriptors(t) <= before }, 5*time.Second, 10*time.Millisecond, "descriptors were leaked")
}

// TestStubKilledDuringOpen checks that opening a session is canceled if its stub is killed, so that
// no process is left running.
func TestStubKilledDuringOpen(t *testing.T) {
	entered := make(chan struct{})
	results := make(chan error, 1)
	socket, _ := serve(t, &Server{OnExit: func(_, _ string, _ wire.ExitRecord, err error) { results <- err }}, opening{entered})
	cmd := call(socket, "-n", "w-0", "x")
	require.NoError(t, cmd.Start())
	<-entered
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.ErrorIs(t, <-results, context.Canceled)
}

// opening is an Opener that blocks until its context ends.
type opening struct{ entered chan struct{} }

func (o opening) Open(ctx context.Context, _ string, _ wire.Spec, _ Streams) (Session, error) {
	close(o.entered)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestServeFailsOnAClosedListener(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	l, err := rundir.Listen(dir + "/s")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.ErrorIs(t, (&Server{}).Serve(t.Context(), l), net.ErrClosed)
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}
