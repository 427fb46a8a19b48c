//go:build linux

package reap

import (
	"bytes"
	"encoding/binary"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mostPrograms is how many programs execve opens: a script may run another script, and the last
// interpreter has a loader.
const mostPrograms = 7

// awaitFiles returns when the file systems of the directory and the program of s answer. Until its
// child has called execve, a fork stops this thread and, from the next garbage collection on, the
// whole program. So a call that hangs must hang here, where only its caller waits. awaitFiles ignores
// errors, because execve returns them too.
//
// If a file system stops answering in the milliseconds after awaitFiles, the whole program hangs. To
// avoid that, a copy of this program, which is in memory, could do the execve. That would make each
// start 1 to 2 ms slower.
func awaitFiles(s Spec) {
	if s.Dir != "" {
		_ = unix.Access(s.Dir+"/.", unix.X_OK)
	}
	path := s.Path
	for range mostPrograms {
		if !filepath.IsAbs(path) && s.Dir != "" {
			path = s.Dir + "/" + path
		}
		if path = interpreter(path); path == "" {
			return
		}
	}
}

// interpreter reads the start of a program, as execve does. It returns the interpreter in the first
// line of a script, the loader of a dynamic program, or "".
func interpreter(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG { // to open a FIFO would hang
		return ""
	}
	fd, err := open(path, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var head [256]byte
	n, _ := unix.Pread(fd, head[:], 0)
	line, ok := bytes.CutPrefix(head[:max(n, 0)], []byte("#!"))
	if !ok {
		return loader(fd, head[:max(n, 0)])
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if words := bytes.Fields(line); len(words) > 0 {
		return string(words[0])
	}
	return ""
}

// Offsets in a 64-bit ELF file (elf(5)): of the file's header, and of a program header.
const (
	elfHeaders, elfHeaderSize, elfHeaderCount, elfHeader = 32, 54, 56, 64

	segmentType, segmentOffset, segmentLength, segment = 0, 8, 32, 56
	segmentInterpreter                                 = 3 // PT_INTERP

	largestTable = 64 << 10 // execve refuses larger tables of program headers
)

// loader returns the path of the loader that execve opens for a 64-bit ELF program whose file starts
// with head, or "".
func loader(fd int, head []byte) string {
	if len(head) < elfHeader || !bytes.HasPrefix(head, []byte("\x7fELF\x02")) {
		return ""
	}
	order := binary.NativeEndian
	size := segment * int(order.Uint16(head[elfHeaderCount:]))
	if order.Uint16(head[elfHeaderSize:]) != segment || size > largestTable {
		return ""
	}
	table := make([]byte, size)
	n, _ := unix.Pread(fd, table, int64(order.Uint64(head[elfHeaders:])))
	for table = table[:max(n, 0)]; len(table) >= segment; table = table[segment:] {
		if order.Uint32(table[segmentType:]) != segmentInterpreter {
			continue
		}
		path := make([]byte, min(order.Uint64(table[segmentLength:]), unix.PathMax))
		n, _ := unix.Pread(fd, path, int64(order.Uint64(table[segmentOffset:])))
		path, _, _ = bytes.Cut(path[:max(n, 0)], []byte{0})
		return string(path)
	}
	return ""
}
