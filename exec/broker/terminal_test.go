//go:build linux

package broker

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminalVariable turns the test binary into a shell on its own terminal, or into the launcher
// that this shell runs in the background.
const terminalVariable = "BROKER_TEST_TERMINAL"

func onTerminal(role string) int {
	if role == "shell" {
		// The session leader does not run the launcher itself: the kernel sends no SIGTTIN, which
		// this test needs, to an orphaned process group.
		launcher := exec.Command(os.Args[0])
		launcher.Env = append(os.Environ(), terminalVariable+"=launcher")
		launcher.Stdin = os.Stdin
		launcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		_ = launcher.Run()
		return launcher.ProcessState.ExitCode()
	}
	fd, err := syscall.Dup(0)
	if err != nil {
		return 2
	}
	d, err := adopt(fd, true)
	if err != nil {
		return 3
	}
	defer d.Close()
	if _, err := d.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return 4
	}
	return 0
}

func TestReadingOurOwnTerminalInTheBackgroundDoesNotStopUs(t *testing.T) {
	e := terminalEnds(t, true)
	defer e.reader.Close()
	defer e.writer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), terminalVariable+"=shell")
	cmd.Stdin = e.reader
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	require.NoError(t, cmd.Start())
	// There must be data to read, otherwise a blocked read would be correct.
	_, err = e.writer.Write([]byte("typed for another process\n"))
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	waiting, err := unix.IoctlGetInt(int(e.reader.Fd()), unix.TIOCINQ)
	require.NoError(t, err)
	require.Equal(t, len("typed for another process\n"), waiting)
}
