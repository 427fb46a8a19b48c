package progress

import (
	"bytes"
	"time"
)

// maxLine is how many bytes of a line are checked. A Writer buffers as much.
const maxLine = 64 << 10

// Writer checks a copy of a stream. It never fails. One goroutine at a time may use it.
type Writer struct {
	watch  *Watch
	split  func(line []byte) (rank int, text []byte)
	news   func()
	rank   int       // of the line
	inside bool      // a part of the line was checked, and a carriage return ended it
	held   []byte    // the unfinished line
	now    time.Time // time of this piece of output; zero: not read yet
}

// Writer returns a Writer for the stream of a rank. It calls news when Look has something new to
// return.
func (w *Watch) Writer(rank int, news func()) *Writer {
	return &Writer{watch: w, news: news, rank: rank}
}

// Mixed returns a Writer for a stream that several ranks share. split returns the rank of a line,
// and the text after its tag.
func (w *Watch) Mixed(split func(line []byte) (rank int, text []byte), news func()) *Writer {
	return &Writer{watch: w, split: split, news: news}
}

// Write checks the lines that p completes, and keeps the beginning of the next one.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	w.now = time.Time{}
	if len(w.held) == 0 && w.split == nil && !w.watch.candidate(p) {
		p = p[max(bytes.LastIndexByte(p, '\n'), bytes.LastIndexByte(p, '\r'))+1:]
	}
	for len(p) > 0 {
		end := endOf(p)
		if end < 0 {
			w.hold(p)
			break
		}
		if len(w.held) == 0 {
			w.line(p[:end])
		} else {
			w.hold(p[:end])
			w.line(w.held)
			w.held = w.held[:0]
		}
		w.inside = p[end] == '\r'
		p = p[end+1:]
	}
	return n, nil
}

// endOf returns the end of the first line, or -1. IndexByte is far faster than IndexAny.
func endOf(p []byte) int {
	end := bytes.IndexByte(p, '\n')
	line := p
	if end >= 0 {
		line = p[:end]
	}
	if back := bytes.IndexByte(line, '\r'); back >= 0 {
		return back
	}
	return end
}

// Close checks a last line without a newline.
func (w *Writer) Close() error {
	w.now = time.Time{}
	w.line(w.held)
	w.held = nil
	return nil
}

func (w *Writer) hold(p []byte) {
	w.held = append(w.held, p[:min(len(p), maxLine-len(w.held))]...)
}

func (w *Writer) line(line []byte) {
	if len(line) == 0 {
		return
	}
	line = line[:min(len(line), maxLine)]
	if w.split != nil && !w.inside {
		w.rank, line = w.split(line)
	}
	if w.now.IsZero() {
		w.now = time.Now()
	}
	if w.watch.Feed(w.rank, line, w.now) {
		w.news()
	}
}

// escape begins a terminal escape sequence.
const escape = 0x1b

// plain returns a line without escape sequences, such as colors.
func plain(line []byte) []byte {
	if bytes.IndexByte(line, escape) < 0 {
		return line
	}
	kept := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] != escape:
			kept = append(kept, line[i])
		case i+1 < len(line) && line[i+1] == '[':
			for i += 2; i < len(line) && (line[i] < 0x40 || line[i] > 0x7e); i++ {
			}
		default:
			i++
		}
	}
	return kept
}
