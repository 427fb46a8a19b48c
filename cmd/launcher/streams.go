package main

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"

	"k8s.io/klog/v2"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// Streams are the standard streams of the program, and the name under which it writes to them.
type Streams struct {
	Caller   caller
	In       *os.File
	Out, Err *printed
}

// standard returns the Streams of this process.
func standard(by caller) Streams {
	return Streams{Caller: by, In: os.Stdin, Out: &printed{file: os.Stdout, name: "standard output"},
		Err: &printed{file: os.Stderr, name: "standard error", words: by.words()}}
}

// asJSON makes each line on stderr a JSON object, including those of the client of the API server.
func (s Streams) asJSON() {
	s.Err.json = true
	klog.SetSlogLogger(slog.New(failure.JSONHandler(s.Err.file, slog.LevelWarn)))
}

// unprinted returns the first error of printing as a failure, or nil if everything was printed. If
// a reader closes its pipe, SIGPIPE ends the process before that.
func (s Streams) unprinted() error {
	for _, p := range []*printed{s.Out, s.Err} {
		if err := p.lost(); err != nil {
			return failure.New(names.ExitOutput, "", "%s: %w", p.name, err)
		}
	}
	return nil
}

// printed is a file that remembers its first error, because many callers do not check each write.
type printed struct {
	file  *os.File
	name  string
	words *strings.Replacer // changes what is written; nil: nothing
	json  bool              // each line becomes a JSON object

	mu  sync.Mutex
	err error
}

// Write implements io.Writer. Lines that become JSON objects have the level info.
func (p *printed) Write(b []byte) (int, error) { return p.level("info").Write(b) }

// level returns the writer for lines of a level: info, warn or error.
func (p *printed) level(level string) io.Writer {
	if p.json {
		return failure.JSONLines{Out: unchanged{p}, Level: level}
	}
	return unchanged{p}
}

// unchanged writes bytes to the file as they are, but for the names of verbs.
type unchanged struct{ *printed }

// Write implements io.Writer.
func (p unchanged) Write(b []byte) (int, error) {
	if p.words != nil {
		if _, err := p.words.WriteString(p.file, string(b)); err != nil {
			return 0, p.keep(err)
		}
		return len(b), nil
	}
	n, err := p.file.Write(b)
	return n, p.keep(err)
}

// keep remembers the first error, and returns err.
func (p *printed) keep(err error) error {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.err = err
		}
	}
	return err
}

// Fd returns the descriptor, by which callers find out whether it is a terminal.
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
