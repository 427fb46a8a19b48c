//go:build linux

package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// isOddDevice reports whether f is a device whose writes may fail for no reason
// that can be looked up later, as /dev/full: no terminal, and not /dev/null.
func isOddDevice(f *os.File) bool {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err != nil && st.Rdev != unix.Mkdev(1, 3)
}

// lookAtOutput notes output that a command which writes to our own descriptors
// has lost, as far as that can be known: its disk is full, or nobody reads the
// pipe and the command died, by a signal or with a code of that range. Open MPI 4
// says 0 after the first, and crashes after the second.
func (r *runner) lookAtOutput(died bool) {
	if err := fullDisk(r.streams.Out); err != nil {
		r.outputLost(called(placeName(standardOutput, r.streams.Out), err))
	}
	if died && unread(r.streams.Out) {
		r.outputLost(called(standardOutput, syscall.EPIPE))
	}
}

// fullDisk returns ENOSPC where f is a file on a file system that takes no byte
// more.
func fullDisk(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeType != 0 {
		return nil
	}
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil || st.Blocks == 0 {
		return nil
	}
	free := st.Bavail
	if os.Geteuid() == 0 {
		free = st.Bfree
	}
	if free > 0 {
		return nil
	}
	return syscall.ENOSPC
}

// placeName is what people call one of our descriptors, with the path of the
// file or device behind it: "standard output (/logs/run.log)".
func placeName(name string, f *os.File) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil || !filepath.IsAbs(path) {
		return name // a pipe or a socket
	}
	return name + " (" + path + ")"
}

// unread reports whether f is a pipe that its reader has closed.
func unread(f *os.File) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
		_, err := unix.Poll(fds, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	}
}
