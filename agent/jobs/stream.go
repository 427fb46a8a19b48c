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

// A container's log is read through connections that may be cut anywhere, by anybody
// on the way, with or without a word. An end proves nothing: what the API server
// ends in good order may be a kubelet's connection that broke.
//
// So every line comes with the time at which the runtime took it, and a new
// connection asks for what is not older than a whole second that lies overlap before
// the newest line. The lines since then that were handed on already are known by
// their time and text, and left out. The API server and the kubelet filter line by
// line, and pass on whole seconds only. Lines of the two streams of a container may
// stand in the log a little out of order; overlap is much longer than that.

// overlap is how far back a new connection asks.
const overlap = 3 * time.Second

// manyLines is how many lines of the overlap are known at most: of a container that
// writes more than that in three seconds, fewer seconds are kept.
const manyLines = 1 << 20

// logSource opens a log.
type logSource interface {
	// open gives the lines since then (zero: all), each with its time before it;
	// with follow it stays open. tail > 0: the last ones only.
	open(ctx context.Context, since time.Time, tail int, follow bool) (io.ReadCloser, error)
}

// stream is one log, handed on line by line.
type stream struct {
	source logSource
	emit   func(at time.Time, line []byte) error // without its end; the bytes are lent
	tail   int                                   // of the first connection
	seed   maphash.Seed
	most   int // lines that are known at most

	since time.Time // nothing older is asked for
	// With tail: the first line. What stands before it was left out, and is again,
	// but for lines like it of the same moment, which cannot be told from it.
	first  *mark
	newest time.Time
	known  map[mark]int // lines since then that were handed on
	order  []mark       // the same, as they came
	taken  int          // how many lines were handed on
	before bool         // this connection has not come to the first line yet
	rest   []byte       // a last line without an end, as the last connection had it
}

// mark tells a line from others.
type mark struct {
	at   int64
	text uint64
}

func newStream(source logSource, since time.Time, tail int, emit func(time.Time, []byte) error) *stream {
	return &stream{source: source, emit: emit, tail: tail, since: since, seed: maphash.MakeSeed(), most: manyLines, known: map[mark]int{}}
}

// errEmit marks an error of emit: nobody reads on.
type errEmit struct{ error }

func (e errEmit) Unwrap() error { return e.error }

// pass reads through one connection, until it ends. fresh is how many lines it had
// that were not known.
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
	left := make(map[mark]int, len(s.known)) // known lines that are still to come again
	for m, n := range s.known {
		left[m] = n
	}
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
			s.rest = bytes.Clone(line) // cut, or really without an end: settle tells
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

// take hands on a line unless it is known.
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
		return false, nil // --tail left it out
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

// advance forgets what no connection will bring again.
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

// settle reads what is left of a log that will not grow: until a connection has
// brought nothing new, and ended as the one before it. Then a last line without an
// end is one.
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

// last hands on what is there of a line without an end: nobody can be asked for more.
func (s *stream) last() error {
	line := s.rest
	s.rest = nil
	if len(line) == 0 {
		return nil
	}
	_, err := s.take(line, map[mark]int{})
	return err
}

// cleared is how a kubelet says, in the place of a log, that it has thrown it away.
const cleared = "unable to retrieve container logs for "

// split takes the time off a line. One without is a word of the kubelet itself.
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
