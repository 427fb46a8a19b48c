package broker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/shortage"
)

// adopt makes a stream of a passed descriptor, for reading or for writing, and
// owns fd from then on, on error too. The open file description that fd shares
// with others is never changed. Close ends a Read or Write that waits.
func adopt(fd int, reads bool) (io.ReadWriteCloser, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("take descriptor: %w", err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFIFO {
		if own := reopen(fd, reads); own != nil {
			unix.Close(fd)
			return own, nil
		}
	}
	// A blocking descriptor gives a plain file; NewFile changes no flag of it.
	file := os.NewFile(uintptr(fd), "passed")
	set, err := watchSet(fd, reads)
	if errors.Is(err, unix.EPERM) {
		return file, nil // a regular file or /dev/null: never makes anybody wait
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("take descriptor: %w", err)
	}
	return &polled{file: file, set: set, socket: st.Mode&unix.S_IFMT == unix.S_IFSOCK}, nil
}

// reopen gives a pipe's end a second open file description, which may be
// non-blocking: O_NONBLOCK belongs to the description, not to the pipe
// (open(2), pipe(7)). nil where it cannot be: no /proc, another owner, a
// pipe for writing that has no reader any more, or no room in the poller.
func reopen(fd int, reads bool) *os.File {
	mode := unix.O_WRONLY
	if reads {
		mode = unix.O_RDONLY
	}
	own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	file, _ := shortage.Polled(os.NewFile(uintptr(own), "passed pipe")) // watchSet says why
	return file
}

// watchSet makes an epoll set that becomes readable when fd is ready. The set
// itself can be non-blocking and sits in the runtime's poller, so a wait for it
// costs a goroutine and Close ends it. EPERM: fd is always ready (epoll_ctl(2)).
func watchSet(fd int, reads bool) (*os.File, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLOUT}
	if reads {
		event.Events = unix.EPOLLIN
	}
	if err := unix.EpollCtl(set, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		unix.Close(set)
		return nil, err
	}
	if err := unix.SetNonblock(set, true); err != nil {
		unix.Close(set)
		return nil, err
	}
	return shortage.Polled(os.NewFile(uintptr(set), "watch set"))
}

// isNull tells whether fd is /dev/null (1:3 in Linux's devices.txt).
func isNull(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
}
