package flow

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// segmentSize is the largest size of one spill file in bytes. Acknowledged bytes are freed in these
// steps, even if the reader never catches up.
const segmentSize = 8 << 20

// Files is where the spools of a process keep what does not fit into memory: in unlinked temporary
// files. If a directory is full, read-only or missing, no byte is lost, but the writers wait for
// their readers.
type Files struct {
	Dirs   []string // tried in this order
	Budget *Budget  // for the bytes in all files
	// Failed, if set, is called when no directory takes bytes. The caller is the writer that waits
	// from then on. Failed may be called repeatedly.
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

// openUnlinked creates a file without a name, so that a killed process leaves no files behind.
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

// spill is the part of a spool that is in files: consecutive segments without a gap.
type spill struct {
	segments []segment
	held     int   // bytes in segments
	taken    int   // bytes taken from the budget, at least held
	dir      int   // index in Files.Dirs of the directory for the next segment
	err      error // no directory took bytes; none is tried until some bytes are freed
	busy     bool  // append is running, and keeps the last segment and the budget it took
	released bool
}

type segment struct {
	file file
	base uint64 // offset of its first byte
	size int
	full bool // takes no more bytes
}

func (s *spill) inUse() bool { return len(s.segments) > 0 }

// room returns how many bytes may be passed to append now.
func (s *spill) room(f *Files, want int) int {
	if f == nil || s.err != nil {
		return 0
	}
	if need := s.held + want - s.taken; need > 0 {
		s.taken += f.Budget.take(need)
	}
	return max(0, min(want, s.taken-s.held))
}

// append adds bytes of p, whose first byte has offset end. It returns how many bytes it added, at
// least one unless there is an error. An error means that no directory takes bytes, or that the
// spill was released meanwhile. Calls that a slow disk may delay run outside the owner's lock.
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
				return n, nil // a lasting error is reported by the next write, which writes nothing
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
			fault = fmt.Errorf("%w; %w", fault, err) // joined to a single line for the log
		}
		if s.dir >= len(f.Dirs) {
			s.err = fmt.Errorf("write spill file: %w", fault)
			return 0, s.err
		}
	}
}

// current returns the segment for the next bytes, and creates one if necessary. After an error,
// s.dir is the next directory to try.
func (s *spill) current(f *Files, end uint64, outside func(func())) (*segment, error) {
	if n := len(s.segments); n > 0 && !s.segments[n-1].full && s.segments[n-1].size < segmentSize {
		return &s.segments[n-1], nil
	}
	if s.dir >= len(f.Dirs) {
		return nil, errors.New("no directory for spilled output")
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

// readAt copies bytes of one segment from offset off on into p. It returns 0 at the end.
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

// ack frees the segments before offset off.
func (s *spill) ack(f *Files, off uint64) {
	for len(s.segments) > 0 && s.segments[0].base+uint64(s.segments[0].size) <= off {
		if s.busy && len(s.segments) == 1 {
			return // append still writes to it
		}
		s.held -= s.segments[0].size
		s.segments[0].file.Close()
		s.segments = s.segments[1:]
		s.mend(f)
	}
}

// mend allows the directories to be tried again, because there may be room now.
func (s *spill) mend(f *Files) {
	if len(s.segments) == 0 {
		s.segments = nil
	}
	if !s.busy {
		s.dir, s.err = 0, nil
		s.settle(f)
	}
}

// settle returns to the budget what was taken and is not used by a segment.
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
