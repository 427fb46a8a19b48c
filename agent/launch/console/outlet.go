package console

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Outlet writes to a descriptor of the user's and gives up when it is closed. Nothing else can end
// a write to a stopped terminal, or to a pipe that nothing reads: the descriptor is not ours, so we
// must not make it non-blocking.
type Outlet struct {
	file  *os.File
	plain bool // a regular file, which never blocks
	over  chan struct{}
	Close func()
}

// pipeBuf is how many bytes a ready pipe takes without blocking (pipe(7)).
const pipeBuf = 4096

// lookEvery is how often, in milliseconds, a blocked write checks whether the Outlet was closed.
const lookEvery = 200

// NewOutlet returns an Outlet that writes to f. It never closes f.
func NewOutlet(f *os.File) *Outlet {
	o := &Outlet{file: f, over: make(chan struct{})}
	o.Close = sync.OnceFunc(func() { close(o.over) })
	if info, err := f.Stat(); err == nil {
		o.plain = info.Mode()&fs.ModeType == 0
	}
	return o
}

// Write implements io.Writer. The error is that of the file, or os.ErrClosed.
func (o *Outlet) Write(p []byte) (n int, err error) {
	if o.plain {
		return o.file.Write(p)
	}
	for n < len(p) {
		if err := o.ready(); err != nil {
			return n, err
		}
		m, err := o.file.Write(p[n:min(len(p), n+pipeBuf)])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// ready waits until a write will not block.
func (o *Outlet) ready() error {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return err
	}
	for {
		select {
		case <-o.over:
			return os.ErrClosed
		default:
		}
		n := 0
		cerr := conn.Control(func(fd uintptr) {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, lookEvery)
		})
		switch {
		case cerr != nil:
			return cerr
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		case n > 0:
			return nil // also on failure: the write returns the error
		}
	}
}
