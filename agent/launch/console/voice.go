package console

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/musterhq/muster/agent/failure"
)

// Streams are the launcher's own; the command inherits the real descriptors.
type Streams struct {
	In       *os.File
	Out, Err *os.File
}

// Voice speaks to people on stderr, one whole line at a time. What it says
// begins with "agent: "; --quiet leaves complaints only. With --log-format=json each
// line is an object.
type Voice struct {
	mu    sync.Mutex
	Out   io.Writer
	Quiet bool
	JSON  bool
	lost  Loss // errors of w
}

// Say tells what happens.
func (v *Voice) Say(format string, args ...any) {
	if !v.Quiet {
		v.line("info", "agent: "+format, args...)
	}
}

// Warn tells what may be wrong; --quiet does not silence it.
func (v *Voice) Warn(format string, args ...any) { v.line("warn", "agent: "+format, args...) }

// Hint follows a Warn.
func (v *Voice) Hint(hint string) {
	if hint != "" {
		v.line("info", "hint: %s", hint)
	}
}

func (v *Voice) line(level, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := fmt.Fprintf(v.at(level), format+"\n", args...); err != nil {
		v.lost.Note(Unwritable(Called(StandardError, err)))
	}
}

// Lost is the first error of writing a line; nil: none was lost.
func (v *Voice) Lost() error { return v.lost.Err() }

// Write lets another printer share the lines' lock.
func (v *Voice) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at("info").Write(p)
}

// at returns the writer for lines of level.
func (v *Voice) at(level string) io.Writer {
	if v.JSON {
		return failure.JSONLines{Out: v.Out, Level: level}
	}
	return v.Out
}
