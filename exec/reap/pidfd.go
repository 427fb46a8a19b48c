//go:build linux

package reap

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pidfd holds on to a process, which may be no child of ours, beyond its end. A nil Pidfd
// knows nothing.
type Pidfd struct{ file *os.File }

// OpenPidfd returns nil if the kernel gives none: the process's end is then seen only
// while its parent has not collected it.
func OpenPidfd(pid int) *Pidfd {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	return &Pidfd{os.NewFile(uintptr(fd), "pidfd")}
}

// Close lets go of the process.
func (p *Pidfd) Close() {
	if p != nil {
		_ = p.file.Close() // there is nothing to write
	}
}

// AwaitEnd blocks until the process has ended, and returns false when p is closed first.
func (p *Pidfd) AwaitEnd() bool {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(hasEnded) == nil
}

// hasEnded reports whether a pidfd has nothing to wait for.
func hasEnded(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return n > 0 || err != nil && err != unix.EINTR
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
