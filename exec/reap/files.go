//go:build linux

package reap

import (
	"bytes"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mostScripts is how many interpreters execve follows: a script may run another script.
const mostScripts = 5

// awaitFiles returns when the file systems of the directory and the program of s answer. Until its
// child has called execve, a fork stops this thread and, from the next garbage collection on, the
// whole program. So a call that hangs must hang here, where only its caller waits. awaitFiles ignores
// errors, because execve returns them too.
func awaitFiles(s Spec) {
	if s.Dir != "" {
		_ = unix.Access(s.Dir+"/.", unix.X_OK)
	}
	path := s.Path
	for range mostScripts {
		if !filepath.IsAbs(path) && s.Dir != "" {
			path = s.Dir + "/" + path
		}
		if path = interpreter(path); path == "" {
			return
		}
	}
}

// interpreter reads the start of a program, as execve does. It returns the interpreter in the first
// line of a script, or "".
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
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if words := bytes.Fields(line); len(words) > 0 {
		return string(words[0])
	}
	return ""
}
