package console

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// sink tells whether a log's file takes a line now. A terminal that was
// stopped, or a pipe that nobody reads, does not.
type sink struct {
	file    *os.File // nil: always
	dropped atomic.Int64
}

func newSink(w io.Writer) *sink {
	file, _ := w.(*os.File)
	return &sink{file: file}
}

// ready reports whether a line may be written, and counts it as dropped if not.
// A pipe that is ready takes PIPE_BUF bytes at once (pipe(7)).
func (s *sink) ready() bool {
	if s.file == nil {
		return true
	}
	conn, err := s.file.SyscallConn()
	if err != nil {
		return true // the write will say what is wrong
	}
	full := false
	_ = conn.Control(func(fd uintptr) {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 0)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			full = err == nil && n == 0
			return
		}
	})
	if full {
		s.dropped.Add(1)
	}
	return !full
}
