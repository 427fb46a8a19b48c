package broker

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pieceSize is how much is written at once to a descriptor that may block. If poll(2) reports a
// pipe as writable, PIPE_BUF bytes fit (pipe(7)).
const pieceSize = 4096

// polled is a descriptor that is used only when it is ready. One goroutine may read and one may
// write.
type polled struct {
	file   *os.File // the passed descriptor
	set    *os.File // readable when file is ready
	socket bool
}

// Close implements io.Closer.
func (p *polled) Close() error {
	return errors.Join(p.set.Close(), p.file.Close())
}

// Read waits until there is data to read. A terminal that has hung up, or in whose background we
// are, reads as ended.
func (p *polled) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := p.do(func(fd int) (int, error) {
		if p.socket {
			n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
			return n, err
		}
		if inBackground(fd) {
			return 0, nil
		}
		return unix.Read(fd, b)
	})
	if n == 0 && err == nil || errors.Is(err, unix.EIO) {
		return 0, io.EOF
	}
	return n, err
}

// Write writes all of b, in pieces that fit.
func (p *polled) Write(b []byte) (done int, err error) {
	for done < len(b) {
		n, err := p.do(func(fd int) (int, error) {
			if p.socket {
				return unix.SendmsgN(fd, b[done:], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			}
			return unix.Write(fd, b[done:min(len(b), done+pieceSize)])
		})
		done += max(n, 0)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// do waits for readiness and calls call, until it does not return EAGAIN.
func (p *polled) do(call func(fd int) (int, error)) (n int, err error) {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	for {
		if err := p.wait(); err != nil {
			return 0, err
		}
		var failure error
		if raw.Control(func(fd uintptr) { n, failure = call(int(fd)) }) != nil {
			return 0, os.ErrClosed // no other cause is possible, and the original error is internal to package poll
		}
		if errors.Is(failure, unix.EAGAIN) || errors.Is(failure, unix.EINTR) {
			continue
		}
		if failure != nil {
			return 0, failure
		}
		return n, nil
	}
}

// wait returns nil when the descriptor is ready, os.ErrClosed after Close.
func (p *polled) wait() error {
	raw, err := p.set.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	closed := raw.Read(func(set uintptr) bool {
		var events [1]unix.EpollEvent
		n, err := unix.EpollWait(int(set), events[:], 0)
		if errors.Is(err, unix.EINTR) {
			n, err = unix.EpollWait(int(set), events[:], 0)
		}
		failure = err
		return err != nil || n > 0
	})
	if closed != nil {
		return os.ErrClosed
	}
	return failure
}

// inBackground reports whether fd is our own terminal while another process group is in its
// foreground. A read would then stop the launcher with SIGTTIN (termios(3)).
func inBackground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}
