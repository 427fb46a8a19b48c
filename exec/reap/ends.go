//go:build linux

package reap

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/shortage"
)

// Ends reports the ends of processes in their order. Goroutines that each wait for one process
// would not wake up in that order.
type Ends struct {
	file *os.File // an epoll(7) instance, whose ready list is in order

	mu   sync.Mutex
	last int32            // number of the newest process
	told map[int32]func() // callbacks by number
}

// NewEnds returns an Ends without processes. The error comes from the kernel.
func NewEnds() (*Ends, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("wait for the ends of processes: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd) // it was just created
		return nil, fmt.Errorf("wait for the ends of processes: %w", err)
	}
	file, err := shortage.Polled(os.NewFile(uintptr(fd), "ends"))
	if err != nil {
		return nil, fmt.Errorf("wait for the ends of processes: %w", err)
	}
	return &Ends{file: file, told: map[int32]func(){}}, nil
}

// Add arranges that Follow calls ended once, when the process has ended. It is not called after p
// is closed.
func (e *Ends) Add(p *Pidfd, ended func()) error {
	e.mu.Lock()
	e.last++
	number := e.last
	e.told[number] = ended
	e.mu.Unlock()
	forget := func() { e.take(number) }
	p.forget.Store(&forget)
	var failed error
	err := p.control(func(fd uintptr) {
		conn, err := e.file.SyscallConn()
		if err != nil {
			failed = err
			return
		}
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: number}
		if err := conn.Control(func(epoll uintptr) { failed = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, int(fd), &event) }); err != nil {
			failed = err
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		forget()
		return fmt.Errorf("wait for the end of a process: %w", err)
	}
	return nil
}

func (e *Ends) take(number int32) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	ended := e.told[number]
	delete(e.told, number)
	return ended
}

// Follow reports ends until e is closed. Calls do not overlap, and must be short.
func (e *Ends) Follow() {
	conn, err := e.file.SyscallConn()
	if err != nil {
		return // it is closed
	}
	events := make([]unix.EpollEvent, 64)
	for {
		n := 0
		err := conn.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events, 0) // EINTR: it is called again
			return n > 0
		})
		if err != nil {
			return
		}
		for _, event := range events[:n] {
			if ended := e.take(event.Fd); ended != nil {
				ended()
			}
		}
	}
}

// Close ends Follow.
func (e *Ends) Close() { _ = e.file.Close() }
