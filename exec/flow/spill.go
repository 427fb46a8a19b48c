package flow

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// segmentSize bounds one spill file: what has been acknowledged is given back
// in such steps, also when the reader never catches up.
const segmentSize = 8 << 20

// Files is where the spools of a process keep what their memory cannot take:
// unlinked temporary files. A full, read-only or missing directory loses
// nothing; the writers then wait for their readers.
type Files struct {
	Dirs   []string // tried in this order
	Budget *Budget  // bytes in all files
	// Failed, if set, is called when no directory takes bytes, by the writer
	// that waits from then on, and may be called again and again.
	Failed func(error)

	open func(dir string) (file, error) // nil: openUnlinked
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

func (f *Files) failed(err error) {
	if f.Failed != nil {
		f.Failed(err)
	}
}

func (f *Files) create(dir string) (file, error) {
	if f.open != nil {
		return f.open(dir)
	}
	return openUnlinked(dir)
}

// openUnlinked makes a file without a name: a killed process leaves none behind.
func openUnlinked(dir string) (file, error) {
	f, err := os.CreateTemp(dir, "spool-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// spill is the part of one spool that lies in files: segments that follow each
// other without a gap.
type spill struct {
	segments []segment
	held     int   // bytes in segments
	taken    int   // bytes taken from the budget, at least held
	dir      int   // of Files.Dirs, where the next segment goes
	err      error // no directory took bytes: none is tried until some are freed
	busy     bool  // append goes on, and keeps the last segment and what it was lent
	released bool
}

type segment struct {
	file file
	base uint64 // offset of its first byte
	size int
	full bool // takes no more
}

func (s *spill) inUse() bool { return len(s.segments) > 0 }

// room is how many bytes append may be given now.
func (s *spill) room(f *Files, want int) int {
	if f == nil || s.err != nil {
		return 0
	}
	if need := s.held + want - s.taken; need > 0 {
		s.taken += f.Budget.take(need)
	}
	return max(0, min(want, s.taken-s.held))
}

// append adds bytes of p, the first of which has offset end, and returns how
// many, at least one. With an error there were none: no directory takes any, or
// everything was released meanwhile. What a slow disk may delay runs outside of
// the owner's lock.
func (s *spill) append(f *Files, end uint64, p []byte, outside func(func())) (int, error) {
	s.busy = true
	defer func() {
		s.busy = false
		s.settle(f)
	}()
	var fault error
	for {
		seg, err := s.current(f, end, outside)
		if err == nil {
			var n int
			outside(func() { n, err = seg.file.WriteAt(p[:min(len(p), segmentSize-seg.size)], int64(seg.size)) })
			if s.released {
				return 0, ErrClosed
			}
			seg.size += n
			s.held += n
			if n > 0 {
				return n, nil // an error that stays comes again, with nothing written
			}
			s.dir++ // the directory is full
			if seg.full = true; seg.size == 0 {
				seg.file.Close()
				s.segments = s.segments[:len(s.segments)-1]
			}
		}
		if s.released {
			return 0, ErrClosed
		}
		if fault == nil {
			fault = err
		} else {
			fault = fmt.Errorf("%w; %w", fault, err) // one line of a log
		}
		if s.dir >= len(f.Dirs) {
			s.err = fmt.Errorf("write spill file: %w", fault)
			return 0, s.err
		}
	}
}

// current is the segment that takes the next bytes; it makes one if there is
// none. After an error s.dir is the next directory to try.
func (s *spill) current(f *Files, end uint64, outside func(func())) (*segment, error) {
	if n := len(s.segments); n > 0 && !s.segments[n-1].full && s.segments[n-1].size < segmentSize {
		return &s.segments[n-1], nil
	}
	if s.dir >= len(f.Dirs) {
		return nil, errors.New("no directory for it")
	}
	var file file
	var err error
	dir := f.Dirs[s.dir]
	outside(func() { file, err = f.create(dir) })
	if err != nil {
		s.dir++
		return nil, err
	}
	if s.released {
		file.Close()
		return nil, ErrClosed
	}
	s.segments = append(s.segments, segment{file: file, base: end})
	return &s.segments[len(s.segments)-1], nil
}

// readAt copies bytes from off on, of one segment; 0 at the end.
func (s *spill) readAt(p []byte, off uint64) (int, error) {
	for i := range s.segments {
		seg := &s.segments[i]
		if at := off - seg.base; off >= seg.base && at < uint64(seg.size) {
			n := min(len(p), seg.size-int(at))
			if _, err := seg.file.ReadAt(p[:n], int64(at)); err != nil {
				return 0, fmt.Errorf("read spill file: %w", err)
			}
			return n, nil
		}
	}
	return 0, nil
}

// ack frees the segments before off.
func (s *spill) ack(f *Files, off uint64) {
	for len(s.segments) > 0 && s.segments[0].base+uint64(s.segments[0].size) <= off {
		if s.busy && len(s.segments) == 1 {
			return // append goes on with it
		}
		s.held -= s.segments[0].size
		s.segments[0].file.Close()
		s.segments = s.segments[1:]
		s.mend(f)
	}
}

// mend lets the directories be tried again: there may be room now.
func (s *spill) mend(f *Files) {
	if len(s.segments) == 0 {
		s.segments = nil
	}
	if !s.busy {
		s.dir, s.err = 0, nil
		s.settle(f)
	}
}

// settle gives back what the budget lent and no segment holds.
func (s *spill) settle(f *Files) {
	if s.taken > s.held {
		f.Budget.give(s.taken - s.held)
		s.taken = s.held
	}
}

func (s *spill) release(f *Files) {
	for _, seg := range s.segments {
		seg.file.Close()
	}
	s.segments, s.held, s.busy, s.released = nil, 0, false, true
	s.mend(f)
}
