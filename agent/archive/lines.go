package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Choice selects lines of an archive. The zero value selects all.
type Choice struct {
	Rank    *int      // of this rank only
	Attempt *int      // of this attempt only
	Since   time.Time // lines that were written later, and up to a few seconds earlier ones
	Tail    int       // the last lines of each process, over all chosen attempts; 0: all
	// Match reports whether a line is wanted; nil: all are. Tail counts only these.
	Match func(line []byte) bool
}

// Line is a line of output.
type Line struct {
	Label   string // of the process: rank 3, ps 0
	Rank    int    // NoRank: it has none
	Attempt int
	At      time.Time // it was written then, or up to a few seconds later
	Text    []byte    // without its newline; valid until the call returns
}

// longest is the longest line in bytes that Lines passes on in one piece.
const longest = 1 << 20

// chunk is a part of a file whose lines were written at about one time.
type chunk struct {
	at       time.Time
	until    time.Time // when the next chunk of the file begins; zero: not known
	file     string
	from, to int64
	part     *Part
	attempt  int
}

// Lines passes the lines of the run to emit, one attempt after the other. In an attempt, lines of all
// processes come in about the order in which they were written. It goes on after a file that cannot be
// read, and returns an error at the end. It returns the first error of emit at once.
func (x *Index) Lines(choice Choice, emit func(Line) error) error {
	var lost []error
	r := reading{choice: choice, dir: x.Dir, emit: emit, lines: bufio.NewReaderSize(nil, longest), last: map[string][]kept{}}
	for i := range x.Attempts {
		a := &x.Attempts[i]
		if choice.Attempt != nil && a.Number != *choice.Attempt {
			continue
		}
		for _, c := range x.chunks(a, choice) {
			err := r.chunk(c)
			if r.failed {
				return err
			}
			if err != nil {
				lost = append(lost, err)
			}
		}
	}
	if err := r.rest(); err != nil {
		return err
	}
	return errors.Join(lost...)
}

// chunks returns the chosen parts of an attempt in the order of their times.
func (x *Index) chunks(a *Attempt, choice Choice) (all []chunk) {
	for k := range a.Processes {
		p := &a.Processes[k]
		if choice.Rank != nil && p.Rank != *choice.Rank {
			continue
		}
		for _, span := range []Span{p.Stdout, p.Stderr} {
			all = append(all, x.split(a, p, span)...)
		}
	}
	all = slices.DeleteFunc(all, func(c chunk) bool { return !c.until.IsZero() && c.until.Before(choice.Since) })
	slices.SortStableFunc(all, func(a, b chunk) int { return a.at.Compare(b.at) })
	return all
}

// split splits a part of a file at the offsets whose times are known.
func (x *Index) split(a *Attempt, p *Part, span Span) (all []chunk) {
	c := chunk{at: p.Began, file: span.File, from: span.From, to: span.To, part: p, attempt: a.Number}
	for _, m := range x.times[span.File] {
		if m.from < span.From || span.To != toEnd && m.from >= span.To {
			continue
		}
		if m.from > c.from { // else only the time of the first byte is known better
			before := c
			before.to, before.until = m.from, m.at
			all = append(all, before)
		}
		c.from, c.at = m.from, m.at
	}
	c.until = a.Ended
	return append(all, c)
}

// kept is a line that --tail may still drop.
type kept struct {
	number int
	line   Line
}

// reading is the state of Lines.
type reading struct {
	choice Choice
	dir    string
	emit   func(Line) error
	lines  *bufio.Reader
	failed bool              // emit has failed
	number int               // of lines so far
	last   map[string][]kept // with Tail: by process
}

// chunk reads the lines of a chunk.
func (r *reading) chunk(c chunk) error {
	size := int64(1) << 62
	if c.to != toEnd {
		size = c.to - c.from
	}
	if size <= 0 {
		return nil
	}
	f, err := os.Open(filepath.Join(r.dir, c.file))
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	defer f.Close()
	r.lines.Reset(io.NewSectionReader(f, c.from, size))
	for {
		text, err := r.lines.ReadSlice('\n')
		if len(text) > 0 {
			if err := r.line(Line{Label: c.part.Label, Rank: c.part.Rank, Attempt: c.attempt, At: c.at, Text: bytes.TrimSuffix(text, []byte("\n"))}); err != nil {
				r.failed = true
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("read output: %w", err)
		}
	}
}

// line passes on a line, or keeps it until it is known to be one of the last.
func (r *reading) line(l Line) error {
	if r.choice.Match != nil && !r.choice.Match(l.Text) {
		return nil
	}
	if r.choice.Tail == 0 {
		return r.emit(l)
	}
	l.Text = bytes.Clone(l.Text)
	r.number++
	last := append(r.last[l.Label], kept{r.number, l})
	if len(last) > r.choice.Tail {
		last = last[1:]
	}
	r.last[l.Label] = last
	return nil
}

// rest passes on the lines that were kept.
func (r *reading) rest() error {
	var all []kept
	for _, last := range r.last {
		all = append(all, last...)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Compare(a.number, b.number) })
	for _, one := range all {
		if err := r.emit(one.line); err != nil {
			return err
		}
	}
	return nil
}
