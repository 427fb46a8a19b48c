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
	mostLogged = 64 << 10 // of standard error, into the log
	mostKept   = 512      // of its end, and of the first line of standard output
	mostQuoted = 200      // of these, in an error
)

// stderr reads a plugin's standard error to its end, whatever it writes.
type stderr struct {
	pipe *os.File
	log  *slog.Logger

	done chan struct{} // closed when all was read

	mu    sync.Mutex
	tail  []byte // the last of what was read
	ended bool
}

// Read is called by go-plugin, and gives it nothing: it would parse the lines,
// and take a plugin's word for their level. It returns when the pipe has ended.
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

// tell logs the whole lines of text and returns what is left.
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

// lastWords are the last lines on standard error, as many as fit.
func (s *stderr) lastWords() string {
	select {
	case <-s.done: // it has ended, and a moment later all was read
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

func (s *stderr) Close() error { return s.pipe.Close() }

// stdout remembers the first line, which ought to be the handshake.
type stdout struct {
	pipe *os.File

	mu    sync.Mutex
	first []byte
	whole bool // first has its line's end, or is as long as it may be
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

func (s *stdout) Close() error { return s.pipe.Close() }

// clean makes somebody else's text fit for one line of ours.
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
