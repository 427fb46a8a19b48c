//go:build linux

package command

import (
	"os"
	osexec "os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOfCommand checks that processes that users start by hand beside the command do not belong to
// it.
func TestOfCommand(t *testing.T) {
	own := "r" + strconv.Itoa(os.Getpid())
	child := osexec.Command("sleep", "1000")
	child.Env = append(os.Environ(), envRun+"="+own)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	require.Eventually(t, func() bool { return Owns(child.Process.Pid, own) }, time.Minute, time.Millisecond)
	require.False(t, Owns(child.Process.Pid, "another"))
	require.False(t, Owns(os.Getpid(), own), "a process that was started by hand")
	require.False(t, Owns(1<<30, own), "a process that does not exist")
}
