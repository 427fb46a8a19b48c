package main

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// Streams are the program's own.
type Streams struct {
	In       *os.File
	Out, Err *printed
}

// standard are the process's own Streams.
func standard() Streams {
	return Streams{In: os.Stdin, Out: &printed{file: os.Stdout, name: "standard output"}, Err: &printed{file: os.Stderr, name: "standard error"}}
}

// unprinted is the first error of printing, as a failure; nil: all was printed.
// A pipe that its reader closes ends the process by SIGPIPE before that.
func (s Streams) unprinted() error {
	for _, p := range []*printed{s.Out, s.Err} {
		if err := p.lost(); err != nil {
			return failure.New(names.ExitOutput, "", "%s: %w", p.name, err)
		}
	}
	return nil
}

// printed is a file that remembers its first error: many who print do not look
// at each one.
type printed struct {
	file *os.File
	name string

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.err = err
		}
	}
	return n, err
}

// Fd is the descriptor, for those who ask whether it is a terminal.
func (p *printed) Fd() uintptr { return p.file.Fd() }

func (p *printed) lost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var perr *fs.PathError
	if errors.As(p.err, &perr) {
		return perr.Err
	}
	return p.err
}
