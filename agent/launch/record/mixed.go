//go:build linux

package record

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// ofCommand is the detail of the first line of a command in the launcher that names no rank.
const ofCommand = "a line of the command that names no rank"

// mostRanks bounds the ranks that are noted, because any program can print what looks like a tag.
const mostRanks = 1 << 16

// Split returns the rank in the tag of a line. ok is false if the line has no tag.
type Split func(line []byte) (rank int, text []byte, ok bool)

// Mixed notes the first lines in the output of a command in the launcher, where the ranks of an mpirun
// are merged. A tag in a line tells its rank; the worker stays unknown. The first line without a tag
// is noted as one of the command. A nil Mixed notes nothing.
type Mixed struct {
	log   *Log
	split Split

	mu      sync.Mutex
	ranks   map[int]bool // whose first line came
	unnamed bool         // a line without a tag came
}

// Mixed returns a Mixed for one attempt. A nil Log returns nil.
func (l *Log) Mixed(split Split) *Mixed {
	if l == nil {
		return nil
	}
	return &Mixed{log: l, split: split, ranks: map[int]bool{}}
}

// Reader returns a writer that looks at one of the command's streams. Its writes never fail.
func (m *Mixed) Reader() io.WriteCloser { return &mixedLines{m: m} }

// line notes a line, or its first bytes. at is when these came; zero: now.
func (m *Mixed) line(line []byte, at time.Time) {
	if len(line) == 0 {
		return
	}
	rank, _, tagged := m.split(line)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !tagged && !m.unnamed:
		m.unnamed = true
		m.log.At(at, event.FirstLine, ofCommand)
	case tagged && !m.ranks[rank] && len(m.ranks) < mostRanks:
		m.ranks[rank] = true
		m.log.Rank(at, event.FirstLine, "", rank, "")
	}
}

// tagMost is how many bytes of a line are looked at: more than the longest tag, [prterun-HOST-7@1,3]<stdout>:.
const tagMost = 300

// mixedLines finds the beginnings of lines in one stream.
type mixedLines struct {
	m    *Mixed
	head []byte    // of the line that has not ended yet
	at   time.Time // when its first byte came
	told bool      // its head is long enough and was passed on
}

// Write implements io.Writer.
func (s *mixedLines) Write(p []byte) (int, error) {
	if s.m == nil {
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		rest = after
		switch {
		case s.told:
		case ended && len(s.head) == 0:
			s.m.line(line[:min(len(line), tagMost)], time.Time{})
		default:
			if len(s.head) == 0 {
				s.at = time.Now()
			}
			s.head = append(s.head, line[:min(len(line), tagMost-len(s.head))]...)
			if ended || len(s.head) == tagMost {
				s.end()
			}
		}
		s.told = s.told && !ended
	}
	return len(p), nil
}

// end passes on the head of the current line.
func (s *mixedLines) end() {
	s.m.line(s.head, s.at)
	s.head, s.told = s.head[:0], true
}

// Close implements io.Closer. It passes on a line without an end.
func (s *mixedLines) Close() error {
	if s.m != nil && len(s.head) > 0 {
		s.end()
	}
	return nil
}
