package group

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Limits of what is kept of stderr: enough for the end of a traceback.
const (
	tailLines = 12
	tailLine  = 512 // bytes of one line
)

// tail passes on what is written, and keeps its last lines.
type tail struct {
	to io.WriteCloser // nil: discard

	mu    sync.Mutex
	lines []string
	part  []byte // the unfinished line
	over  bool   // the rest of the unfinished line is dropped
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.keep(p)
	if t.to == nil {
		return len(p), nil
	}
	return t.to.Write(p)
}

func (t *tail) keep(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Only the end of a large write can matter.
	if most := 4 * tailLines * tailLine; len(p) > most {
		p = p[len(p)-most:]
		t.part, t.over = nil, false
	}
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		t.add(line)
		if p = rest; whole {
			t.endLine()
		}
	}
}

func (t *tail) add(b []byte) {
	room := tailLine - len(t.part)
	if len(b) > room {
		b, t.over = b[:room], true
	}
	t.part = append(t.part, b...)
}

func (t *tail) endLine() {
	line := strings.ToValidUTF8(string(t.part), "\uFFFD")
	if i := strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r'); i >= 0 {
		line = line[i+1:] // the last state of a progress bar
	}
	line = strings.TrimRight(line, "\r \t")
	if t.over {
		line += "..."
	}
	t.part, t.over = t.part[:0], false
	if line == "" {
		return
	}
	if t.lines = append(t.lines, line); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// last returns the last lines so far.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.part) > 0 {
		t.endLine()
	}
	return append([]string(nil), t.lines...)
}

// Close implements io.Closer.
func (t *tail) Close() error {
	if t.to == nil {
		return nil
	}
	return t.to.Close()
}
