//go:build linux

package console

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// IsOddDevice reports whether f is a device such as /dev/full, whose writes may fail for a reason
// that cannot be found later. Terminals and /dev/null are not.
func IsOddDevice(f *os.File) bool {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err != nil && st.Rdev != unix.Mkdev(1, 3)
}

// FullDisk returns ENOSPC if f is a file on a full file system.
func FullDisk(f *os.File) error {
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

// PlaceName returns the name of one of our descriptors in messages, with the path of its file or
// device: "standard output (/logs/run.log)".
func PlaceName(name string, f *os.File) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil || !filepath.IsAbs(path) {
		return name // a pipe or a socket
	}
	return name + " (" + path + ")"
}

// Unread reports whether f is a pipe that its reader has closed.
func Unread(f *os.File) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
		_, err := unix.Poll(fds, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	}
}

// Named adds the name of the destination to the errors of a writer.
type Named struct {
	Name string
	To   io.Writer
}

// Write implements io.Writer.
func (n Named) Write(p []byte) (int, error) {
	written, err := n.To.Write(p)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		err = Called(n.Name, err)
	}
	return written, err
}

// Noted reports the write errors of a process's output. os.ErrClosed is not reported, because it
// means that the writer was given up.
type Noted struct {
	io.WriteCloser
	Tell func(error)
}

// Write implements io.Writer.
func (n Noted) Write(p []byte) (int, error) {
	written, err := n.WriteCloser.Write(p)
	n.look(err)
	return written, err
}

// Close implements io.Closer.
func (n Noted) Close() error {
	err := n.WriteCloser.Close()
	n.look(err)
	return err
}

func (n Noted) look(err error) {
	if err != nil && !errors.Is(err, os.ErrClosed) {
		n.Tell(err)
	}
}
