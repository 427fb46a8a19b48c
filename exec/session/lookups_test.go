//go:build linux

package session

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// TestEndWaitsForSessionsButNotForLookups checks that the end of the server waits for goroutines of
// sessions without a limit, and leaves only look-ups behind.
func TestEndWaitsForSessionsButNotForLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Log: slog.New(slog.DiscardHandler)})
		hang := make(chan struct{})
		s.lookUp(func() { <-hang })
		s.lookUp(func() { time.Sleep(time.Second) })
		s.wg.Go(func() { time.Sleep(time.Hour) })
		began := time.Now()
		s.wait()
		require.Equal(t, time.Hour, time.Since(began))
		_, ok := s.stays()
		require.False(t, ok)
		s.lookUp(func() { t.Error("a look-up began after the end") })
		close(hang)
	})
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Log: slog.New(slog.DiscardHandler)})
		s.lookUp(func() { time.Sleep(time.Second) })
		began := time.Now()
		s.wait()
		require.Equal(t, time.Second, time.Since(began), "the look-up has answered")
	})
}

// serving returns a server, the launcher's end of its link, and a function that ends the server. That
// function fails the test if the server does not end.
func serving(t *testing.T) (s *Server, c *net.UnixConn, end func()) {
	dir, err := os.MkdirTemp("", "muster") // t.TempDir may be too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	ctx, cancel := context.WithCancel(context.Background())
	reaper, reaped := reap.New(), make(chan error, 1)
	go func() { reaped <- reaper.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-reaped)
	})
	s = New(Config{Reaper: reaper, Log: slog.New(slog.DiscardHandler), Dir: dir})
	s.lookups.limit = 10 * time.Millisecond
	ln, err := rundir.Listen(filepath.Join(dir, "s"))
	require.NoError(t, err)
	serve, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	served := make(chan error, 1)
	go func() { served <- s.Serve(serve, ln) }()
	c, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return s, c, func() {
		t.Helper()
		stop()
		select {
		case err := <-served:
			require.NoError(t, err)
		case <-time.After(10 * time.Second):
			t.Fatal("the server waits for a file system")
		}
	}
}

// TestServerEndsDuringALookup checks that the server ends while a question about files has no answer.
func TestServerEndsDuringALookup(t *testing.T) {
	s, c, end := serving(t)
	// To open a FIFO hangs until another process opens its other end.
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	searching := func() bool {
		s.observer.mu.Lock()
		defer s.observer.mu.Unlock()
		return s.observer.searching
	}
	t.Cleanup(func() {
		fd, err := unix.Open(fifo, unix.O_RDWR, 0)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return !searching() }, 10*time.Second, time.Millisecond)
		require.NoError(t, unix.Close(fd))
	})
	hello(t, c)
	send(t, c, wire.Ask, 0, wire.AskRecord{Seq: 1, Newest: fifo + "/*"})
	require.Eventually(t, searching, 10*time.Second, time.Millisecond)
	end()
	require.True(t, searching(), "the look-up should hang")
}

// TestStopDuringAStart checks that a start which hangs does not delay the end of other sessions, and
// that its process is stopped too.
func TestStopDuringAStart(t *testing.T) {
	s, c, end := serving(t)
	starting, answers := make(chan *session, 2), make(chan struct{})
	s.begin = func(x *session, spec wire.Spec) {
		starting <- x
		if x.id == "hangs" {
			<-answers
		}
		s.start(x, spec)
	}
	hello(t, c)
	spec := wire.Spec{Argv: []string{"/bin/sleep", "1000"}}
	all := map[string]*session{}
	for i, id := range []string{"runs", "hangs"} {
		send(t, c, wire.Open, uint32(i+1), wire.OpenRecord{ID: id, Hash: spec.Hash(), Spec: &spec})
		all[id] = <-starting
	}
	<-all["runs"].started
	s.mu.Lock()
	stopped := s.stops.allLocked(wire.ReasonStopped, syscall.SIGTERM, time.Minute)
	s.mu.Unlock()
	select {
	case <-all["runs"].process().Done():
	case <-time.After(20 * time.Second):
		t.Error("the stop waits for a start")
	}
	select {
	case <-stopped:
		t.Error("the stop misses a late start")
	default:
	}
	close(answers)
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Fatal("the stop spares the late process")
	}
	require.Equal(t, 128+int(syscall.SIGTERM), all["hangs"].process().Status().Code)
	end()
}

// hanging returns a server with a session whose program is looked up until the test closes answers.
func hanging(t *testing.T) (s *Server, x *session, answers chan struct{}, end func()) {
	s, c, end := serving(t)
	starting, answers := make(chan *session, 1), make(chan struct{})
	s.begin = func(x *session, spec wire.Spec) {
		starting <- x
		<-answers
		s.start(x, spec)
	}
	hello(t, c)
	spec := wire.Spec{Argv: []string{"/bin/sleep", "1000"}}
	send(t, c, wire.Open, 1, wire.OpenRecord{ID: "s", Hash: spec.Hash(), Spec: &spec})
	return s, <-starting, answers, end
}

// TestStartAfterTheStop checks that the process of a session is killed if its file system answers only
// after the stop.
func TestStartAfterTheStop(t *testing.T) {
	s, x, answers, end := hanging(t)
	s.mu.Lock()
	stopped := s.stops.allLocked(wire.ReasonStopped, syscall.SIGTERM, time.Minute)
	s.mu.Unlock()
	s.stops.rush() // in place of the end of the grace
	<-stopped
	close(answers)
	<-x.started
	select {
	case <-x.process().Done():
		require.Equal(t, 128+int(syscall.SIGKILL), x.process().Status().Code)
	case <-time.After(10 * time.Second):
		t.Error("the process runs after the stop")
		x.signal(syscall.SIGKILL)
	}
	end()
}

// TestServerEndsDuringAStart checks that the server ends while the program of a session is looked up,
// and that a process which starts afterwards is killed.
func TestServerEndsDuringAStart(t *testing.T) {
	s, x, answers, end := hanging(t)
	end()
	close(answers)
	<-x.started
	require.Nil(t, x.process())
	require.Eventually(t, func() bool { return s.cfg.Reaper.Running() == 0 }, 10*time.Second, time.Millisecond)
}
