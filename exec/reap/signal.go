//go:build linux

package reap

import (
	"bytes"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signal sends sig to the process that a scan saw, or to none: it opens a pidfd before it compares
// the start time. It returns os.ErrProcessDone if the process has ended. The error wraps EPERM for
// a process of another user.
func Signal(p Proc, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch err {
	case nil:
		defer unix.Close(fd)
	case unix.ESRCH:
		return os.ErrProcessDone
	default:
		// A kernel before 5.3 or an old seccomp profile (ENOSYS, EPERM). kill(2) remains, with a
		// gap of microseconds after the comparison.
		fd = -1
	}
	var buf bytes.Buffer
	now, serr := readStat(p.PID, &buf)
	if serr != nil || now.Start != p.Start {
		return os.ErrProcessDone
	}
	if fd >= 0 {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		err = unix.Kill(p.PID, sig)
	}
	switch err {
	case nil:
		return nil
	case unix.ESRCH:
		return os.ErrProcessDone
	}
	return fmt.Errorf("signal pid %d (%s): %w", p.PID, p.Comm, err)
}
