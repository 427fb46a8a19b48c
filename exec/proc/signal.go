//go:build unix

package proc

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns SIGTERM for 15, and "signal 64" for a signal without a name.
func SignalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", sig)
}
