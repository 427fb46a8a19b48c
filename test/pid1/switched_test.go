//go:build linux

package pid1

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/rundir"
)

// In a shared directory another user keeps exchanging our run directory for a link
// to one of their own. No byte of ours may reach their socket.
func TestAttachIsNotLedToAnotherSocket(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	ours, link := filepath.Join(shared, "run"), filepath.Join(shared, "link")
	theirs := filepath.Join(shared, "theirs")
	require.NoError(t, os.Mkdir(ours, 0o700))
	require.NoError(t, os.Mkdir(theirs, 0o700))
	require.NoError(t, os.Symlink(theirs, link))
	var reached, led atomic.Int64
	count := func(dir string, n *atomic.Int64) (*net.UnixListener, func()) {
		ln, err := rundir.Listen(filepath.Join(dir, names.WorkerSocket))
		require.NoError(t, err)
		return ln, func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				n.Add(1)
				c.Close()
			}
		}
	}
	var wg sync.WaitGroup
	mine, serveMine := count(ours, &reached)
	other, serveOther := count(theirs, &led)
	wg.Go(serveMine)
	wg.Go(serveOther)
	var over atomic.Bool
	wg.Go(func() {
		for !over.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, ours, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 300 {
		cmd := exec.Command(agent, "attach")
		cmd.Env = []string{names.EnvDir + "=" + ours}
		_ = cmd.Run() // 0 or 255, as the directory stands
	}
	over.Store(true)
	mine.Close()
	other.Close()
	wg.Wait()
	require.Zero(t, led.Load(), "connections to the socket of another")
	require.NotZero(t, reached.Load(), "connections to our own")
}

// TestAttachDistrustsAnotherUsersServer checks that no byte of the launcher's goes to
// a server that runs as neither the socket's owner nor root.
func TestAttachDistrustsAnotherUsersServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.Mkdir(dir, 0o700))
	l := listenAs(t, other, filepath.Join(dir, names.WorkerSocket))
	require.NoError(t, l.SetDeadline(time.Now().Add(10*time.Second)))
	received := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			received <- err.Error()
			return
		}
		defer c.Close()
		text, _ := io.ReadAll(c) // until attach closes
		received <- string(text)
	}()
	cmd := exec.Command(agent, "attach")
	cmd.Env, cmd.Stdin = []string{names.EnvDir + "=" + dir}, strings.NewReader("a token")
	out, err := cmd.CombinedOutput()
	require.Empty(t, <-received)
	require.Error(t, err)
	require.Contains(t, string(out), "served by uid 64102, not by 0")
}

// listenAs returns a listener on a socket that root owns and a server of that uid serves.
func listenAs(t *testing.T, uid int, path string) *net.UnixListener {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	listening := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread must not outlive its uid
		const keep = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
			listening <- errno
			return
		}
		listening <- unix.Listen(fd, 1) // the kernel remembers who called
	}()
	require.NoError(t, <-listening)
	l, err := net.FileListener(file)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l.(*net.UnixListener)
}
