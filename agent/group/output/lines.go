package output

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// MaxLine is the longest line in bytes that stays in one piece.
const MaxLine = 64 << 10

// Continued stands before each piece, but the first, of a line that was cut.
const Continued = "[continued] "

// lines lets whole lines through. Its methods are called by one goroutine at a
// time, mu is shared by all that write to one place.
type lines struct {
	to  io.Writer
	mu  *sync.Mutex
	tag string

	own    sync.Mutex // a worker that was given up may write while we close
	part   []byte     // of a line that has no end yet
	cut    bool       // and whose beginning has been written
	out    []byte
	closed bool
	bar    bar
}

// Write implements io.Writer. The error is that of the place.
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

// piece adds what is held and more as one line.
func (l *lines) piece(more []byte) {
	l.out = append(l.out, l.tag...)
	if l.cut {
		l.out = append(l.out, Continued...)
	}
	l.out = append(append(append(l.out, l.part...), more...), '\n')
	l.part, l.bar.end = l.part[:0], 0
}

// mostKept is how much memory a process's buffer may keep between writes.
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

// Close writes what has no end yet, with one.
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
