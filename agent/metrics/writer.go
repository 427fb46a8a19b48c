package metrics

import "bytes"

// Writer reads a copy of a stream. It never fails. One goroutine at a time may use it.
type Writer struct {
	look   func(piece []byte, first bool) // first: the piece begins its line
	skip   func()
	held   []byte // the unfinished piece
	lost   bool   // the piece is too long, so its rest is skipped
	inside bool   // a piece of this line has been read
}

// Writer returns a Writer for the output of rank. Several may be in use at once. Close it to read a
// last line without a newline.
func (c *Collector) Writer(rank int) *Writer {
	return &Writer{look: func(piece []byte, _ bool) { c.Line(rank, piece) }, skip: c.skip}
}

// Mixed returns a Writer for a stream that several ranks share. A line with a tag belongs to the
// rank in the tag, a line without one to rank 0. TagsAuto needs the whole stream, so it is treated
// as TagsSure here.
func (c *Collector) Mixed(tags Tags) *Writer {
	rank := 0
	return &Writer{skip: c.skip, look: func(piece []byte, first bool) {
		if first {
			rank, piece = tags.split(plain(piece))
		}
		c.Line(rank, piece)
	}}
}

// Write reads the lines that p completes, and keeps the beginning of the next one.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexAny(p, "\n\r")
		if end < 0 {
			w.hold(p)
			break
		}
		w.hold(p[:end])
		w.end()
		if p[end] == '\n' {
			w.inside = false
		}
		p = p[end+1:]
	}
	return n, nil
}

// Close reads a last line without a newline.
func (w *Writer) Close() error {
	w.end()
	return nil
}

func (w *Writer) hold(p []byte) {
	if w.lost || len(w.held)+len(p) > maxPiece {
		w.lost, w.held = true, w.held[:0]
		return
	}
	w.held = append(w.held, p...)
}

func (w *Writer) end() {
	if w.lost {
		w.skip()
	} else if len(w.held) > 0 {
		w.look(w.held, !w.inside)
	}
	w.inside = w.inside || w.lost || len(w.held) > 0
	w.lost, w.held = false, w.held[:0]
}
