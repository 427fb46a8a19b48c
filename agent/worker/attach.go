//go:build linux

package worker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
)

const (
	// bridgeBuffer holds a whole DATA frame; with 64 KiB the throughput is 0.55
	// to 0.70 of kubectl's, with this 0.81 to 1.15.
	bridgeBuffer = 256 << 10
	pipeSize     = 1 << 20
	// drainTime bounds the rest of a stream that PID 1 has closed.
	drainTime = 5 * time.Second
)

// Attach is the bridge between an exec stream and PID 1: two copy loops and no
// state. The error wraps ErrNoWorker when there is no PID 1 to reach. It returns when either loop has ended, even if the other is blocked:
// after a restart of containerd the end of stdin never comes. Only what PID 1
// said before it closed is still passed on. The caller must exit then.
func Attach() error {
	c, err := dial()
	if err != nil {
		return err
	}
	for _, fd := range []int{0, 1} {
		// Not a pipe, or over the user's limit: then it is as large as it is.
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize)
	}
	_ = c.SetWriteBuffer(pipeSize)
	in, out := make(chan error, 1), make(chan error, 1)
	go func() { in <- pass(c, os.Stdin) }()
	go func() { out <- deliver(c) }()
	select {
	case err = <-out:
		return err
	case err = <-in:
	}
	if err == nil {
		return nil // the launcher has gone
	}
	// PID 1 has closed while the launcher was still writing: what it said last,
	// ENDED among it, is on its way out.
	select {
	case err = <-out:
	case <-time.After(drainTime):
	}
	return err
}

// dial connects to the worker of this container. Its error wraps ErrNoWorker.
func dial() (*net.UnixConn, error) {
	s, err := rundir.Find(names.WorkerSocket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	defer s.Close()
	c, err := s.Dial()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	return c, nil
}

// pass copies with a large buffer. The interfaces are narrowed so that io.Copy
// cannot choose a way with a small one.
func pass(w io.Writer, r io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, bridgeBuffer))
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}
