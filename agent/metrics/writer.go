package metrics

import "bytes"

// Writer looks at a stream that is written elsewhere as well. It never fails.
// One goroutine at a time may use it.
type Writer struct {
	look   func(piece []byte, first bool) // first: of its line
	skip   func()
	held   []byte // of a piece that has not ended
	lost   bool   // the piece is too long: what follows of it is skipped
	inside bool   // a piece of this line was looked at
}

// Writer gives one for the output of rank; several may be in use at once.
// Close it to have a last line without an end looked at.
func (c *Collector) Writer(rank int) *Writer {
	return &Writer{look: func(piece []byte, _ bool) { c.Line(rank, piece) }, skip: c.skip}
}

// Mixed gives a Writer for a stream that several ranks share: a line with a tag
// is of the tag's rank, one without of rank 0. tags must not be TagsAuto, which
// needs the whole stream; it is taken as TagsSure.
func (c *Collector) Mixed(tags Tags) *Writer {
	rank := 0
	return &Writer{skip: c.skip, look: func(piece []byte, first bool) {
		if first {
			rank, piece = tags.split(plain(piece))
		}
		c.Line(rank, piece)
	}}
}

// Write looks at the lines that p ends; the beginning of a next one is kept.
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

// Close looks at a last line that has no end.
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
