//go:build linux

package pid1

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

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
