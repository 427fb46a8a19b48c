package flow

import "fmt"

const chunkSize = 64 << 10

// Limits says where a spool may keep bytes. All spools of the process share Memory and Files. A
// spool always has Floor bytes of memory, so that no spool starves.
type Limits struct {
	Floor  int // bytes of memory that do not come from the budget
	Stream int // most bytes of memory of one spool
	Memory *Budget
	Files  *Files // nil: memory only
}

// spool holds the bytes from base, the first unacknowledged one, to end. Those before memEnd are in
// chunks of memory, the others in files. Once the files are drained, memory is used again. spool is
// not safe for concurrent use.
type spool struct {
	limits Limits

	base, end uint64
	chunks    [][]byte // each has chunkSize bytes, except the last one
	head      uint64   // offset of chunks[0][0]
	memEnd    uint64   // end of the bytes in memory
	borrowed  int      // bytes taken from limits.Memory
	files     spill
}

// room returns how many bytes append takes now. It counts files only if stalled.
func (s *spool) room(want int, stalled bool) int {
	if !s.files.inUse() { // memory must wait until the files are drained, to keep the order
		if free := s.memory(want); free > 0 {
			return free
		}
	}
	if !stalled {
		return 0
	}
	return s.files.room(s.limits.Files, want)
}

// memory returns how many bytes fit into memory, and takes them from the budget.
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

// append adds bytes of p, which room has allowed, and returns how many it added. An error means
// that files cannot be used, and that the rest of p has to wait for memory. Slow operations run in
// outside, without the lock that guards the spool. Only one append may run at a time.
func (s *spool) append(p []byte, outside func(func())) (int, error) {
	inMemory := !s.files.inUse() && int(s.memEnd-s.head)+len(p) <= min(s.limits.Stream, s.limits.Floor+s.borrowed)
	if !inMemory {
		n, err := s.files.append(s.limits.Files, s.end, p, outside)
		s.end += uint64(n)
		s.ack(s.base) // again: a segment could not be freed while it was written to
		return n, err
	}
	total := len(p)
	for len(p) > 0 {
		if n := len(s.chunks); n == 0 || len(s.chunks[n-1]) == chunkSize {
			if n == 0 {
				s.head = s.memEnd
			}
			s.chunks = append(s.chunks, nil) // grows with its content, because most sessions print little
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

// readAt copies bytes from offset off on into p and returns how many. It returns 0 at the end. off
// must be within [base, end].
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

// ack frees all bytes before offset off.
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

// release frees all bytes, memory and files.
func (s *spool) release() {
	s.files.release(s.limits.Files)
	if s.borrowed > 0 {
		s.limits.Memory.give(s.borrowed)
		s.borrowed = 0
	}
	s.chunks = nil
	s.base, s.head, s.memEnd = s.end, s.end, s.end
}
