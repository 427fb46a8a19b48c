package launch

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

// voice speaks to people on stderr, one whole line at a time. What it says
// begins with "agent: "; --quiet leaves complaints only. With --log-format=json each
// line is an object.
type voice struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool
	json  bool
	lost  loss // errors of w
}

// Say tells what happens.
func (v *voice) Say(format string, args ...any) {
	if !v.quiet {
		v.line("info", "agent: "+format, args...)
	}
}

// Warn tells what may be wrong; --quiet does not silence it.
func (v *voice) Warn(format string, args ...any) { v.line("warn", "agent: "+format, args...) }

// Hint follows a Warn.
func (v *voice) Hint(hint string) {
	if hint != "" {
		v.line("info", "hint: %s", hint)
	}
}

func (v *voice) line(level, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := fmt.Fprintf(v.at(level), format+"\n", args...); err != nil {
		v.lost.note(unwritable(called(standardError, err)))
	}
}

// Write lets another printer share the lines' lock.
func (v *voice) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at("info").Write(p)
}

// at returns the writer for lines of level.
func (v *voice) at(level string) io.Writer {
	if v.json {
		return failure.JSONLines{Out: v.w, Level: level}
	}
	return v.w
}
