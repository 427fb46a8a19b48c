package proc

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// ReleasePages releases the pages of the program's file, before a process waits, perhaps as long as
// the job lasts. Starting has touched most of these pages, because each package initializes itself.
// Waiting needs only a few, and they come back from the page cache automatically. Without
// ReleasePages the resident memory of a waiting process grows with the size of its program. Nothing
// depends on it, so errors are ignored.
func ReleasePages() {
	fd, err := unix.Open("/proc/self/maps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	// The program's own mappings come first; their lines fit into one page.
	var buf [4096]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return
	}
	var program []byte
	for line := range bytes.Lines(buf[:n]) {
		// start-end perms offset device inode path
		f := bytes.Fields(line)
		if len(f) < 6 {
			break
		}
		if program == nil {
			program = f[5]
		}
		from, to, ok := bytes.Cut(f[0], []byte("-"))
		start, err1 := strconv.ParseUint(string(from), 16, 64)
		end, err2 := strconv.ParseUint(string(to), 16, 64)
		if !ok || err1 != nil || err2 != nil || !bytes.Equal(f[5], program) {
			break
		}
		// A program linked to a fixed address needs no relocation. Its read-only pages equal the
		// file's, so the kernel can read them again.
		if fixed := end < 1<<32; fixed && f[1][1] == '-' {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED)
		}
	}
}
