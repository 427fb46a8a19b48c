//go:build linux

package join

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// TestAProcessThatStartsAfterItsAttemptIsKilled checks a process whose program cannot be opened until
// its attempt is over. A lease of the file (fcntl(2)) takes the place of a file system that does not
// answer.
func TestAProcessThatStartsAfterItsAttemptIsKilled(t *testing.T) {
	reaper := reap.New()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = reaper.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	program, err := os.ReadFile("/bin/sleep")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, program, 0o755))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("no leases here: %v", err)
	}
	c, err := newCrew(reaper, framework.Launch{}, 0, place{})
	require.NoError(t, err)
	c.start(0, reap.Spec{Argv: []string{path, "1000"}, Setsid: true})
	<-c.clear(t.Context(), wire.ReasonStopped, syscall.SIGTERM, time.Minute, t.Logf)
	require.Nil(t, c.procs[0].running(), "the start should hang")
	require.Len(t, c.unstarted(), 1)
	close(c.left)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	require.NoError(t, err)
	<-c.procs[0].started
	select {
	case <-c.procs[0].process.Done():
	case <-time.After(10 * time.Second):
		t.Error("the process runs after its attempt")
		_ = c.procs[0].process.Signal(syscall.SIGKILL)
	}
	c.wg.Wait()
}

// TestAStoppedProcessIsNotStarted stops a process while it waits until the names of the members
// resolve. Rank 0 waits for its end.
func TestAStoppedProcessIsNotStarted(t *testing.T) {
	c, err := newCrew(reap.New(), framework.Launch{Processes: []framework.Process{{Argv: []string{"true"}}}}, 0, place{})
	require.NoError(t, err)
	m := &member{crew: c, client: barrier.NewMember(barrier.MemberConfig{}), unnamed: make(chan struct{})}
	m.work(text(work{Start: []int{0}}))
	require.Empty(t, m.ends)
	stopped := text(work{Start: []int{0}, Stop: []halt{{Process: 0, GraceMillis: 1000}, {Process: 9, GraceMillis: 1000}}})
	for range 2 { // rank 0 sends it again with each change
		m.work(stopped)
		require.Len(t, m.ends, 1)
		require.Equal(t, 0, m.ends[0].Process)
		require.Equal(t, int(syscall.SIGTERM), m.ends[0].Exit.Signal)
	}
	m.unnamed = nil
	m.startAll(m.held)
	m.work(stopped)
	require.Len(t, m.ends, 1)
	require.Nil(t, c.procs[0].running())
}
