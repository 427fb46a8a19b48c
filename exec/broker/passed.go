package broker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// passed holds our copies of a stub's descriptors.
type passed struct {
	stdin          io.ReadWriteCloser // nil if there is none
	stdout, stderr io.ReadWriteCloser
	once           sync.Once
	lost           lost
}

// lost keeps the first error of writing to the stub's descriptors, such as a full disk. A closed
// pipe is not an error here: the remote command notices it.
type lost struct {
	mu    sync.Mutex
	first error
}

func (l *lost) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// kept writes to one of the descriptors and records its error in lost.
type kept struct {
	io.Writer
	name string
	lost *lost
}

func (k kept) Write(b []byte) (int, error) {
	n, err := k.Writer.Write(b)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		k.lost.mu.Lock()
		defer k.lost.mu.Unlock()
		if k.lost.first == nil {
			var perr *fs.PathError
			if errors.As(err, &perr) {
				err = perr.Err
			}
			k.lost.first = fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return n, err
}

// adoptAll adopts the descriptors of a request. After an error none stays open. It treats stdin
// from /dev/null as no stdin, which saves frames: every Open MPI daemon is started with it.
func adoptAll(q request) (*passed, error) {
	p := &passed{}
	fds := q.fds
	for i, at := range []*io.ReadWriteCloser{&p.stdin, &p.stdout, &p.stderr} {
		reads := i == 0
		if reads && q.NoStdin {
			continue
		}
		fd := fds[0]
		fds = fds[1:]
		if reads && isNull(fd) {
			syscall.Close(fd)
			continue
		}
		d, err := adopt(fd, reads)
		if err != nil {
			for _, fd := range fds {
				syscall.Close(fd)
			}
			p.close()
			return nil, err
		}
		*at = d
	}
	return p, nil
}

func (p *passed) streams() Streams {
	s := Streams{Stdout: kept{p.stdout, "standard output", &p.lost}, Stderr: kept{p.stderr, "standard error", &p.lost}}
	if p.stdin != nil {
		s.Stdin = p.stdin
	}
	return s
}

// close closes the descriptors. Blocked Reads and Writes return.
func (p *passed) close() {
	p.once.Do(func() {
		for _, d := range []io.Closer{p.stdin, p.stdout, p.stderr} {
			if d != nil {
				d.Close()
			}
		}
	})
}
