package flow

import (
	"fmt"
	"os"
)

const chunkSize = 64 << 10

// Limits says where a spool may keep bytes. Memory and File are shared by all
// spools of the process; a spool always gets Floor bytes of memory, so that
// none starves. Dir is the directory for spill files; empty: memory only.
type Limits struct {
	Floor  int // bytes of memory that need no budget
	Stream int // most bytes of memory of one spool
	Memory *Budget
	File   *Budget
	Dir    string
}

// spool holds the bytes from base (the first unacknowledged one) to end: in
// chunks of memory up to fileBase, from there on in a file, until the file is
// drained and memory is used again. It is not safe for concurrent use.
type spool struct {
	limits Limits

	base, end uint64
	chunks    [][]byte // whole chunks of chunkSize but for the last
	head      uint64   // offset of chunks[0][0]
	memEnd    uint64   // end of what is in memory
	borrowed  int      // bytes taken from limits.Memory

	file     *os.File
	fileBase uint64 // offset of the file's first byte
	filed    int    // bytes taken from limits.File
	spillErr error  // why the file cannot be used; memory only from then on
}

// room is how many bytes append takes now.
func (s *spool) room(want int) int {
	if s.file != nil {
		if s.spillErr != nil {
			return 0 // until the file is drained; from then on memory only
		}
		return s.roomInFile(want)
	}
	used := int(s.memEnd - s.head)
	free := min(want, s.limits.Stream-used)
	if free > 0 {
		if need := used + free - s.limits.Floor - s.borrowed; need > 0 {
			got := s.limits.Memory.take(need)
			s.borrowed += got
			free -= need - got
		}
	}
	if free > 0 {
		return free
	}
	if s.limits.Dir == "" || s.spillErr != nil {
		return 0
	}
	return s.roomInFile(want)
}

func (s *spool) roomInFile(want int) int {
	used := 0
	if s.file != nil {
		used = int(s.end - s.fileBase)
	}
	if need := used + want - s.filed; need > 0 {
		s.filed += s.limits.File.take(need)
	}
	return max(0, min(want, s.filed-used))
}

// append adds p, which room allowed.
func (s *spool) append(p []byte) error {
	inMemory := s.file == nil && int(s.memEnd-s.head)+len(p) <= min(s.limits.Stream, s.limits.Floor+s.borrowed)
	if !inMemory {
		return s.appendFile(p)
	}
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
	return nil
}

func (s *spool) appendFile(p []byte) error {
	if s.file == nil {
		f, err := os.CreateTemp(s.limits.Dir, "spool-")
		if err != nil {
			s.spillErr = err
			return fmt.Errorf("create spill file: %w", err)
		}
		// The name goes at once: a killed process leaves no file behind.
		if err := os.Remove(f.Name()); err != nil {
			f.Close()
			s.spillErr = err
			return fmt.Errorf("unlink spill file: %w", err)
		}
		s.file, s.fileBase = f, s.end
	}
	if _, err := s.file.WriteAt(p, int64(s.end-s.fileBase)); err != nil {
		s.spillErr = err
		if s.end == s.fileBase {
			s.dropFile()
		}
		return fmt.Errorf("write spill file: %w", err)
	}
	s.end += uint64(len(p))
	return nil
}

// readAt copies bytes from offset off on into p and returns how many; it
// returns 0 at the end. off must lie within [base, end].
func (s *spool) readAt(p []byte, off uint64) (int, error) {
	if off < s.base || off > s.end {
		return 0, fmt.Errorf("read spool: offset %d outside %d to %d", off, s.base, s.end)
	}
	if off >= s.memEnd {
		if s.file == nil || off == s.end {
			return 0, nil
		}
		n := min(len(p), int(s.end-off))
		if _, err := s.file.ReadAt(p[:n], int64(off-s.fileBase)); err != nil {
			return 0, fmt.Errorf("read spill file: %w", err)
		}
		return n, nil
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
	if s.file != nil && off == s.end {
		s.dropFile()
		s.head, s.memEnd = s.end, s.end
	}
}

func (s *spool) dropFile() {
	s.file.Close()
	s.file = nil
	s.limits.File.give(s.filed)
	s.filed = 0
}

// release gives everything back.
func (s *spool) release() {
	if s.file != nil {
		s.dropFile()
	} else if s.filed > 0 {
		s.limits.File.give(s.filed)
		s.filed = 0
	}
	if s.borrowed > 0 {
		s.limits.Memory.give(s.borrowed)
		s.borrowed = 0
	}
	s.chunks = nil
	s.base, s.head, s.memEnd = s.end, s.end, s.end
}
