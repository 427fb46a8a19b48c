//go:build linux

package reap

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pidfd refers to a process, which need not be our child, beyond its end. A nil Pidfd knows
// nothing.
type Pidfd struct {
	file   *os.File
	forget atomic.Pointer[func()] // from Ends; nil: it was not added
}

// OpenPidfd returns nil if the kernel provides none. The end of the process is then visible only
// until its parent has collected it.
func OpenPidfd(pid int) *Pidfd {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	return &Pidfd{file: os.NewFile(uintptr(fd), "pidfd")}
}

// Close releases the process.
func (p *Pidfd) Close() {
	if p == nil {
		return
	}
	if forget := p.forget.Load(); forget != nil {
		(*forget)()
	}
	_ = p.file.Close() // nothing was written
}

func (p *Pidfd) control(f func(fd uintptr)) error {
	if p == nil {
		return os.ErrClosed
	}
	conn, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(f)
}

// Exit returns the exit status of the process, which Linux provides since 6.15 (PIDFD_INFO_EXIT, in
// include/uapi/linux/pidfd.h). wait means that its parent has not collected it yet. With older
// kernels the status is not known.
func (p *Pidfd) Exit() (st Status, known, wait bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	var failed error
	if err := p.control(func(fd uintptr) { failed = unix.IoctlPidfdInfo(int(fd), &info) }); err != nil {
		return st, false, false
	}
	if failed != nil {
		return st, false, errors.Is(failed, syscall.EINTR)
	}
	if info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return st, false, true
	}
	return StatusOf(syscall.WaitStatus(uint32(info.Exit_code))), true, false
}
