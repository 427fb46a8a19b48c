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

// adopt makes a stream from a passed descriptor, for reading or for writing. It owns fd from then
// on, even after an error. It never changes the open file description, which fd shares with other
// processes. Close ends a blocked Read or Write.
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
	// For a blocking descriptor NewFile returns a plain file, and does not change its flags.
	file := os.NewFile(uintptr(fd), "passed")
	set, err := watchSet(fd, reads)
	if errors.Is(err, unix.EPERM) {
		return file, nil // a regular file or /dev/null, which never blocks
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("take descriptor: %w", err)
	}
	return &polled{file: file, set: set, socket: st.Mode&unix.S_IFMT == unix.S_IFSOCK}, nil
}

// reopen opens the end of a pipe a second time. The new open file description may be non-blocking,
// because O_NONBLOCK belongs to the description and not to the pipe (open(2), pipe(7)). reopen
// returns nil without /proc, for a pipe of another user, or if the poller has no room. It also
// returns nil for writing to a pipe without a reader.
func reopen(fd int, reads bool) *os.File {
	mode := unix.O_WRONLY
	if reads {
		mode = unix.O_RDONLY
	}
	own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	file, _ := shortage.Polled(os.NewFile(uintptr(own), "passed pipe")) // watchSet reports the reason
	return file
}

// watchSet makes an epoll set that becomes readable when fd is ready. The set can be non-blocking
// and in the runtime's poller, so waiting costs only a goroutine, and Close ends the wait. EPERM
// means that fd is always ready (epoll_ctl(2)).
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

// isNull reports whether fd is /dev/null (1:3 in Linux's devices.txt).
func isNull(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
}
