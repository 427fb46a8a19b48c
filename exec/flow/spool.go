package flow

import "fmt"

const chunkSize = 64 << 10

// Limits says where a spool may keep bytes. Memory and Files are shared by all
// spools of the process; a spool always gets Floor bytes of memory, so that
// none starves.
type Limits struct {
	Floor  int // bytes of memory that need no budget
	Stream int // most bytes of memory of one spool
	Memory *Budget
	Files  *Files // nil: memory only
}

// spool holds the bytes from base (the first unacknowledged one) to end: in
// chunks of memory up to memEnd, from there on in files, until these are
// drained and memory is used again. It is not safe for concurrent use.
type spool struct {
	limits Limits

	base, end uint64
	chunks    [][]byte // whole chunks of chunkSize but for the last
	head      uint64   // offset of chunks[0][0]
	memEnd    uint64   // end of what is in memory
	borrowed  int      // bytes taken from limits.Memory
	files     spill
}

// room is how many bytes append takes now; into files only if stalled.
func (s *spool) room(want int, stalled bool) int {
	if !s.files.inUse() { // order: no memory before they are drained
		if free := s.memory(want); free > 0 {
			return free
		}
	}
	if !stalled {
		return 0
	}
	return s.files.room(s.limits.Files, want)
}

// memory is how many bytes go into memory, and borrows it.
func (s *spool) memory(want int) int {
	used := int(s.memEnd - s.head)
	free := min(want, s.limits.Stream-used)
	if free > 0 {
		if need := used + free - s.limits.Floor - s.borrowed; need > 0 {
			got := s.limits.Memory.take(need)
			s.borrowed += got
			free -= need - got
		}
	}
	return free
}

// append adds bytes of p, which room allowed, and returns how many. An error
// means that files cannot be used: what is left of p is to wait for memory. What
// may take long runs in outside, without the lock that guards the spool; only
// one append may be under way.
func (s *spool) append(p []byte, outside func(func())) (int, error) {
	inMemory := !s.files.inUse() && int(s.memEnd-s.head)+len(p) <= min(s.limits.Stream, s.limits.Floor+s.borrowed)
	if !inMemory {
		n, err := s.files.append(s.limits.Files, s.end, p, outside)
		s.end += uint64(n)
		s.ack(s.base) // again: a segment that was written to could not be freed
		return n, err
	}
	total := len(p)
	for len(p) > 0 {
		if n := len(s.chunks); n == 0 || len(s.chunks[n-1]) == chunkSize {
			if n == 0 {
				s.head = s.memEnd
			}
			s.chunks = append(s.chunks, nil) // grows with what it holds: most sessions say little
		}
		last := &s.chunks[len(s.chunks)-1]
		n := min(len(p), chunkSize-len(*last))
		*last = append(*last, p[:n]...)
		p = p[n:]
		s.memEnd += uint64(n)
	}
	s.end = s.memEnd
	return total, nil
}

// readAt copies bytes from offset off on into p and returns how many; it
// returns 0 at the end. off must lie within [base, end].
func (s *spool) readAt(p []byte, off uint64) (int, error) {
	if off < s.base || off > s.end {
		return 0, fmt.Errorf("read spool: offset %d outside %d to %d", off, s.base, s.end)
	}
	if off >= s.memEnd {
		return s.files.readAt(p, off)
	}
	done := 0
	for done < len(p) && off < s.memEnd {
		i := int(off - s.head)
		n := copy(p[done:], s.chunks[i/chunkSize][i%chunkSize:])
		done += n
		off += uint64(n)
	}
	return done, nil
}

// ack frees everything before off.
func (s *spool) ack(off uint64) {
	s.base = off
	for len(s.chunks) > 0 && (s.head+chunkSize <= off || off >= s.memEnd) {
		n := len(s.chunks[0])
		s.head += uint64(n)
		s.chunks[0] = nil
		s.chunks = s.chunks[1:]
	}
	if len(s.chunks) == 0 {
		s.chunks = nil
		s.head = s.memEnd
	}
	if excess := s.borrowed - max(0, int(s.memEnd-s.head)-s.limits.Floor); excess > 0 {
		s.limits.Memory.give(excess)
		s.borrowed -= excess
	}
	if s.files.inUse() {
		if s.files.ack(s.limits.Files, off); !s.files.inUse() {
			s.head, s.memEnd = s.end, s.end
		}
	}
	if off == s.end {
		s.files.mend(s.limits.Files)
	}
}

// release gives everything back.
func (s *spool) release() {
	s.files.release(s.limits.Files)
	if s.borrowed > 0 {
		s.limits.Memory.give(s.borrowed)
		s.borrowed = 0
	}
	s.chunks = nil
	s.base, s.head, s.memEnd = s.end, s.end, s.end
}
