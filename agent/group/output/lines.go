package output

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// MaxLine is the length in bytes of the longest line that is not cut.
const MaxLine = 64 << 10

// Continued marks each piece of a cut line except the first.
const Continued = "[continued] "

// lines passes on whole lines. Its methods are called by one goroutine at a time. All lines that
// write to one place share mu.
type lines struct {
	to  io.Writer
	mu  *sync.Mutex
	tag string

	own    sync.Mutex // a worker that was given up may write during Close
	part   []byte     // the unfinished line
	cut    bool       // the beginning of the unfinished line has been written
	out    []byte
	closed bool
	bar    bar
}

// Write implements io.Writer. It returns the error of the place.
func (l *lines) Write(p []byte) (int, error) {
	l.own.Lock()
	defer l.own.Unlock()
	if l.closed {
		return 0, os.ErrClosed
	}
	if err := l.bar.err; err != nil {
		return 0, err
	}
	n := len(p)
	l.out = l.out[:0]
	p = l.afterBar(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		for len(l.part)+len(line) > MaxLine {
			room := MaxLine - len(l.part)
			l.piece(line[:room])
			line, l.cut = line[room:], true
		}
		if whole {
			l.piece(line)
			l.cut = false
		} else {
			if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
				l.bar.end = len(l.part) + i + 1
			}
			l.part = append(l.part, line...)
		}
		p = rest
	}
	l.showBar()
	if err := l.flush(); err != nil {
		return 0, err
	}
	return n, nil
}

// piece adds the held bytes and more as one line.
func (l *lines) piece(more []byte) {
	l.out = append(l.out, l.tag...)
	if l.cut {
		l.out = append(l.out, Continued...)
	}
	l.out = append(append(append(l.out, l.part...), more...), '\n')
	l.part, l.bar.end = l.part[:0], 0
}

// mostKept is the limit in bytes of a process's buffer between writes.
const mostKept = 2 * MaxLine

func (l *lines) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	l.mu.Lock()
	_, err := l.to.Write(l.out)
	l.mu.Unlock()
	if cap(l.out) > mostKept {
		l.out = nil
	}
	return err
}

// Close writes an unfinished line, with a line feed.
func (l *lines) Close() error {
	l.own.Lock()
	defer l.own.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.bar.timer != nil {
		l.bar.timer.Stop()
	}
	l.out = l.out[:0]
	if len(l.part) > 0 {
		l.piece(nil)
	}
	if l.bar.err != nil {
		return l.bar.err
	}
	return l.flush()
}
