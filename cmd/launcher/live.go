package main

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/musterhq/muster/agent/failure"
)

// live shows on stderr how far a job is. On a terminal it keeps one line, which the next state
// replaces. Elsewhere each state is a line of its own. Its callers do not call it at the same time.
type live struct {
	streams Streams
	width   func() int // of the terminal; nil: stderr is none
	on      bool       // the cursor is behind a state
}

func newLive(streams Streams) *live {
	l := &live{streams: streams}
	if fd := int(streams.Err.Fd()); term.IsTerminal(fd) && os.Getenv("TERM") != "dumb" && !streams.Err.json {
		l.width = func() int { width, _, _ := term.GetSize(fd); return width }
	}
	return l
}

// state shows a state. It cuts a line that would wrap, because that could not be replaced.
func (l *live) state(format string, args ...any) {
	if l.width == nil {
		l.say(format, args...)
		return
	}
	text := []rune(string(l.streams.Caller) + ": " + failure.Visible(fmt.Sprintf(format, args...)))
	if width := l.width(); width > 4 && len(text) >= width {
		text = append(text[:width-4], []rune("...")...)
	}
	fmt.Fprintf(l.streams.Err, "\r\x1b[K%s", string(text))
	l.on = true
}

// say prints a line that stays.
func (l *live) say(format string, args ...any) {
	l.end()
	sayer(l.streams.Err)(format, args...)
}

// end keeps the state that is shown.
func (l *live) end() {
	if l.on {
		fmt.Fprintln(l.streams.Err)
		l.on = false
	}
}
