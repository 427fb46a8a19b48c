package jobs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"time"
)

// A connection to a container's log may break anywhere, with or without an error. Its end proves
// nothing: if the API server ends the stream properly, the connection to the kubelet may still have
// broken.
//
// So every line is read with the time at which the runtime received it. A new connection asks for
// the lines since a whole second, at least overlap before the newest line. Lines that were passed
// on already are recognized by their time and text, and skipped. The API server and the kubelet
// filter by line, and only by whole seconds. Lines of a container's two streams may be slightly out
// of order in the log; overlap is much longer than that.

// overlap is how far back a new connection asks.
const overlap = 3 * time.Second

// manyLines limits the remembered lines of the overlap. If a container writes more than that in
// three seconds, fewer seconds are remembered.
const manyLines = 1 << 20

// logSource opens a log.
type logSource interface {
	// open returns the lines since that time (zero: all), each after its time. With follow it stays
	// open. With tail > 0 it returns only the last lines.
	open(ctx context.Context, since time.Time, tail int, follow bool) (io.ReadCloser, error)
}

// stream is one log, passed on line by line.
type stream struct {
	source logSource
	emit   func(at time.Time, line []byte) error // without the newline; the bytes are valid during the call
	tail   int                                   // for the first connection
	seed   maphash.Seed
	most   int // limit of remembered lines

	since time.Time // older lines are not requested
	// With tail: the first line. Lines before it were left out, and are left out again. The
	// exception is equal lines of the same moment, which cannot be told apart from it.
	first  *mark
	newest time.Time
	known  map[mark]int // lines since then that were passed on
	order  []mark       // the same, in order
	taken  int          // lines passed on so far
	before bool         // this connection has not reached the first line yet
	rest   []byte       // a last line without a newline, from the last connection
	left   map[mark]int // known lines that the last connection did not bring again
}

// mark identifies a line.
type mark struct {
	at   int64
	text uint64
}

func newStream(source logSource, since time.Time, tail int, emit func(time.Time, []byte) error) *stream {
	return &stream{source: source, emit: emit, tail: tail, since: since, seed: maphash.MakeSeed(), most: manyLines, known: map[mark]int{}}
}

// errEmit wraps an error of emit, which ends the reading.
type errEmit struct{ error }

func (e errEmit) Unwrap() error { return e.error }

// pass reads through one connection until it ends. fresh is the number of new lines.
func (s *stream) pass(ctx context.Context, follow bool) (fresh int, err error) {
	tail := 0
	if s.first == nil {
		tail = s.tail
	}
	s.before = s.first != nil && s.known[*s.first] > 0
	body, err := s.source.open(ctx, s.since, tail, follow)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	left := make(map[mark]int, len(s.known)) // known lines that this connection should bring again
	for m, n := range s.known {
		left[m] = n
	}
	s.left = left
	s.rest = nil
	r := bufio.NewReaderSize(body, 64<<10)
	var long []byte
	for {
		piece, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, piece...)
			continue
		}
		line := piece
		if len(long) > 0 {
			long = append(long, piece...)
			line = long
		}
		if err != nil {
			s.rest = bytes.Clone(line) // cut, or really without a newline: settle finds out
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return fresh, err
		}
		isFresh, err := s.take(line[:len(line)-1], left)
		if err != nil {
			return fresh, err
		}
		if isFresh {
			fresh++
		}
		long = long[:0]
	}
}

// take passes on a line unless it is known.
func (s *stream) take(line []byte, left map[mark]int) (fresh bool, err error) {
	at, text := split(line)
	if at.IsZero() && bytes.HasPrefix(text, []byte(cleared)) {
		return false, errLost{string(text)}
	}
	m := mark{at.UnixNano(), maphash.Bytes(s.seed, text)}
	if s.before && m == *s.first {
		s.before = false
	}
	if left[m] > 0 {
		left[m]--
		return false, nil
	}
	if s.before {
		return false, nil // left out because of --tail
	}
	if err := s.emit(at, text); err != nil {
		return false, errEmit{err}
	}
	if s.tail > 0 && s.first == nil {
		s.first = &m
	}
	s.taken++
	s.known[m]++
	s.order = append(s.order, m)
	s.advance(at)
	return true, nil
}

// advance forgets lines that no connection will bring again.
func (s *stream) advance(at time.Time) {
	if at.After(s.newest) {
		s.newest = at
	}
	since := s.newest.Add(-overlap).Truncate(time.Second)
	for len(s.order) > s.most && since.Before(s.newest.Truncate(time.Second)) && s.order[len(s.order)-s.most].at >= since.UnixNano() {
		since = since.Add(time.Second)
	}
	if !since.After(s.since) || s.newest.IsZero() {
		return
	}
	s.since = since
	n := 0
	for n < len(s.order) && s.order[n].at < since.UnixNano() {
		if m := s.order[n]; s.known[m] > 1 {
			s.known[m]--
		} else {
			delete(s.known, m)
		}
		n++
	}
	s.order = append(s.order[:0], s.order[n:]...)
}

// settle reads the rest of a log that no longer grows: until a connection brought nothing new and
// ended like the one before. A last line without a newline is then complete.
func (s *stream) settle(ctx context.Context) error {
	var before []byte
	for again := false; ; again = true {
		fresh, err := s.pass(ctx, false)
		if err != nil {
			return err
		}
		if again && fresh == 0 && bytes.Equal(before, s.rest) {
			break
		}
		before = s.rest
	}
	return s.last()
}

// nextRun prepares for the log of a container that was restarted, in which all lines are new. What is known
// stays, because the log may have been read before the restart was seen.
func (s *stream) nextRun() { s.tail, s.first, s.before = 0, nil, false }

// last passes on the last line without a newline, because no more can come.
func (s *stream) last() error {
	line := s.rest
	s.rest = nil
	if len(line) == 0 {
		return nil
	}
	_, err := s.take(line, s.left) // a log may be settled twice
	return err
}

// cleared begins the text that a kubelet returns in place of a log that it has deleted.
const cleared = "unable to retrieve container logs for "

// split separates the time from a line. A line without a time is a message of the kubelet.
func split(line []byte) (at time.Time, text []byte) {
	word, text, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		word, text = line, nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(word))
	if err != nil {
		return time.Time{}, line
	}
	return at, text
}
