package console

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// sink detects whether a log's file can take a line now. A stopped terminal, or a pipe that nothing
// reads, cannot.
type sink struct {
	file    *os.File // nil: it always can
	dropped atomic.Int64
}

func newSink(w io.Writer) *sink {
	file, _ := w.(*os.File)
	return &sink{file: file}
}

// ready reports whether a line may be written, and else counts it as dropped. A pipe that is ready
// takes PIPE_BUF bytes at once (pipe(7)).
func (s *sink) ready() bool {
	if s.file == nil {
		return true
	}
	conn, err := s.file.SyscallConn()
	if err != nil {
		return true // the write returns the error
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
