package hostfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriteReadOnlyDirectory checks that a directory that is not writable causes an error and keeps
// the old file. Root may write everywhere, so as root the test runs on a thread with nobody's file
// system uid. The kernel then drops root's override capabilities.
func TestWriteReadOnlyDirectory(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "hostfile")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, os.Chmod(dir, 0o700))
		require.NoError(t, os.RemoveAll(dir))
	})
	path := filepath.Join(dir, "hostfile")
	require.NoError(t, Write(path, []byte("old"), 0o644))
	require.NoError(t, os.Chmod(dir, 0o555))

	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if os.Getuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				result <- err
				return
			}
		}
		result <- Write(path, []byte("new"), 0o644)
	}()
	err = <-result
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "write hostfile: ")

	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
}
