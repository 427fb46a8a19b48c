package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/musterhq/muster/agent/failure"
)

// Streams are the launcher's own streams. The command inherits these descriptors.
type Streams struct {
	In       *os.File
	Out, Err *os.File
}

// Voice prints messages for people on stderr, one whole line at a time. Each message has the prefix
// "agent: ". --quiet prints only warnings and hints. With --log-format=json each line is an object.
//
// If Out is a file that nothing reads, callers continue after unreadWait, and messages wait in memory.
type Voice struct {
	Out   io.Writer
	Quiet bool
	JSON  bool
	lost  Loss // errors of Out
	queue backlog
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
	v.queue.put(v.Out, v.text(level, format, args...), func(n int) []byte {
		return v.text("warn", "agent: %s", fmt.Sprintf("%d messages were dropped here, because nothing read standard error", n))
	}, func(err error) { v.lost.Note(Unwritable(Called(StandardError, err))) })
}

// Lost returns the first error of writing a line, or nil.
func (v *Voice) Lost() error { return v.lost.Err() }

// Finish waits until all messages are written, or until ctx ends. Then it gives up on their reader.
func (v *Voice) Finish(ctx context.Context) { v.queue.finish(ctx) }

// text returns a line of this level.
func (v *Voice) text(level, format string, args ...any) []byte {
	var line bytes.Buffer
	out := io.Writer(&line)
	if v.JSON {
		out = failure.JSONLines{Out: out, Level: level}
	}
	_, _ = fmt.Fprintf(out, format+"\n", args...) // a Buffer takes everything
	return line.Bytes()
}
