//go:build linux

package reap

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pidfd holds on to a process, which may be no child of ours, beyond its end. A nil Pidfd
// knows nothing.
type Pidfd struct {
	file   *os.File
	forget atomic.Pointer[func()] // of Ends; nil: it was not added
}

// OpenPidfd returns nil if the kernel gives none: the process's end is then seen only
// while its parent has not collected it.
func OpenPidfd(pid int) *Pidfd {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	return &Pidfd{file: os.NewFile(uintptr(fd), "pidfd")}
}

// Close lets go of the process.
func (p *Pidfd) Close() {
	if p == nil {
		return
	}
	if forget := p.forget.Load(); forget != nil {
		(*forget)()
	}
	_ = p.file.Close() // there is nothing to write
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

// Exit returns the exit status of the process. Linux 6.15 tells it (PIDFD_INFO_EXIT, in
// include/uapi/linux/pidfd.h); wait says that its parent has not collected it
// yet. Older kernels leave it unknown.
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
