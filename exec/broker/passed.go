package broker

import (
	"io"
	"sync"
	"syscall"
)

// passed holds our copies of a stub's descriptors.
type passed struct {
	stdin          io.ReadWriteCloser // nil: none
	stdout, stderr io.ReadWriteCloser
	once           sync.Once
}

// adoptAll takes the descriptors of a request; on error none stays open. A
// stdin that is /dev/null is as good as none, and saves its frames: every
// Open MPI daemon is started with it.
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
	s := Streams{Stdout: p.stdout, Stderr: p.stderr}
	if p.stdin != nil {
		s.Stdin = p.stdin
	}
	return s
}

// close closes what is open; a Read or Write that waits returns.
func (p *passed) close() {
	p.once.Do(func() {
		for _, d := range []io.Closer{p.stdin, p.stdout, p.stderr} {
			if d != nil {
				d.Close()
			}
		}
	})
}
