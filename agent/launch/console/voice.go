package console

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/musterhq/muster/agent/failure"
)

// Streams are the launcher's own streams. The command inherits these descriptors.
type Streams struct {
	In       *os.File
	Out, Err *os.File
}

// Voice prints messages for people on stderr, one whole line at a time. Each message has the prefix
// "agent: ". --quiet prints only warnings and hints. With --log-format=json each line is an object.
type Voice struct {
	mu    sync.Mutex
	Out   io.Writer
	Quiet bool
	JSON  bool
	lost  Loss // errors of Out
}

// Say prints what happens, unless --quiet is given.
func (v *Voice) Say(format string, args ...any) {
	if !v.Quiet {
		v.line("info", "agent: "+format, args...)
	}
}

// Warn prints a warning, even with --quiet.
func (v *Voice) Warn(format string, args ...any) { v.line("warn", "agent: "+format, args...) }

// Hint prints a hint after a Warn. It does nothing if hint is "".
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

// Lost returns the first error of writing a line, or nil.
func (v *Voice) Lost() error { return v.lost.Err() }

// Write lets another printer share the lock of the lines.
func (v *Voice) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at("info").Write(p)
}

// at returns the writer for lines of this level.
func (v *Voice) at(level string) io.Writer {
	if v.JSON {
		return failure.JSONLines{Out: v.Out, Level: level}
	}
	return v.Out
}
