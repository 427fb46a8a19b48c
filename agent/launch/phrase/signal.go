//go:build !windows

package phrase

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns "SIGTERM" for 15, and "signal 64" for a signal without a name.
func SignalName(n int) string {
	if name := unix.SignalName(syscall.Signal(n)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}
