package plugin

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	mostLogged = 64 << 10 // bytes of standard error that go into the log
	mostKept   = 512      // bytes kept of its end, and of the first line of standard output
	mostQuoted = 200      // bytes of these in an error
)

// stderr reads a plugin's standard error to its end, even beyond what is logged.
type stderr struct {
	pipe *os.File
	log  *slog.Logger

	done chan struct{} // closed when everything is read

	mu    sync.Mutex
	tail  []byte // the last bytes read
	ended bool
}

// Read is called by go-plugin and returns no data to it: go-plugin would parse the lines and trust
// the log level in them. Read returns when the pipe ends.
func (s *stderr) Read([]byte) (int, error) {
	s.drain()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.done)
	}
	return 0, io.EOF
}

func (s *stderr) drain() {
	var line []byte
	left := mostLogged
	for buf := make([]byte, 32<<10); ; {
		n, err := s.pipe.Read(buf)
		s.keep(buf[:n])
		if left > 0 {
			line = s.tell(append(line, buf[:min(n, left)]...))
			if left -= n; left <= 0 {
				s.say(line)
				s.log.Debug("plugin's stderr: more than 64 KiB, the rest is dropped")
			}
		}
		if err != nil {
			if left > 0 {
				s.say(line)
			}
			return
		}
	}
}

// tell logs the complete lines of text and returns the rest.
func (s *stderr) tell(text []byte) []byte {
	for {
		line, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return text
		}
		s.say(line)
		text = rest
	}
}

func (s *stderr) say(line []byte) {
	if len(line) > 0 {
		s.log.Debug("plugin's stderr", "line", clean(string(line), mostKept))
	}
}

func (s *stderr) keep(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, text[max(0, len(text)-mostKept):]...)
	s.tail = s.tail[max(0, len(s.tail)-mostKept):]
}

// lastWords returns the last lines of standard error, as many as fit.
func (s *stderr) lastWords() string {
	select {
	case <-s.done: // the process has ended, so the rest is read in a moment
	case <-time.After(moment):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(s.tail)), "\n")
	words := lines[len(lines)-1]
	for i := len(lines) - 2; i >= 0 && len(lines[i])+1+len(words) <= mostQuoted; i-- {
		words = lines[i] + " " + words
	}
	return clean(words, mostQuoted)
}

// Close implements io.Closer.
func (s *stderr) Close() error { return s.pipe.Close() }

// stdout keeps the first line, which should be the handshake.
type stdout struct {
	pipe *os.File

	mu    sync.Mutex
	first []byte
	whole bool // first has a complete line, or has reached its limit
}

func (s *stdout) Read(p []byte) (int, error) {
	n, err := s.pipe.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole {
		line, _, ended := bytes.Cut(p[:n], []byte("\n"))
		s.first = append(s.first, line[:min(len(line), mostKept-len(s.first))]...)
		s.whole = ended || len(s.first) == mostKept
	}
	return n, err
}

func (s *stdout) firstLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.first)
}

// Close implements io.Closer.
func (s *stdout) Close() error { return s.pipe.Close() }

// clean makes foreign text fit for one line of ours.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}
