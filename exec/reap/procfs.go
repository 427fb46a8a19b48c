//go:build linux

package reap

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// Files of /proc are read repeatedly while ranks compute, so each is read with only three or four
// calls. os.Open needs five more: it offers the file to the runtime's poller, which for some files
// wakes another thread.

// maxRead limits what one hostile process can make a scan read.
const maxRead = 8 << 20

// ReadFile reads a kernel file into buf, replacing its content: at most 8 MiB. Errors are those of
// open and read.
func ReadFile(path string, buf *bytes.Buffer) error {
	buf.Reset()
	fd, err := open(path, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for buf.Len() < maxRead {
		buf.Grow(4 << 10)
		room := buf.AvailableBuffer()
		n, err := unix.Read(fd, room[:cap(room)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return nil
		}
		buf.Write(room[:n])
	}
	return nil
}

// readNames lists a directory.
func readNames(path string) ([]string, error) {
	fd, err := open(path, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	return dir.Readdirnames(-1)
}

func open(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return fd, nil
	}
}
