//go:build linux

package main

import (
	"bytes"
	"regexp"
)

var (
	writeOf = regexp.MustCompile(`^(\d+) (?:write|writev|pwrite64|sendto|sendmsg)\((\d+),`)
	resumed = regexp.MustCompile(`^(\d+) <\.\.\. (?:write|writev|pwrite64|sendto|sendmsg) resumed>`)
)

// waitsForRoom reports whether strace's log has a write that got EAGAIN from the fault and was never tried again. A
// kernel answers a write so when there is no room, and reports when there is room. strace does only the first half,
// so a program in Go waits. If the write was to wake the Go runtime's own poller, no timer fires any more either.
//
// If any later write has the same descriptor, the program did not wait there, and the hang has another cause.
func waitsForRoom(trace []byte) bool {
	waiting := map[string]bool{} // by descriptor
	calls := map[string]string{} // the descriptor of the write that a thread has not finished
	for line := range bytes.Lines(trace) {
		fd := ""
		if found := writeOf.FindSubmatch(line); found != nil {
			fd = string(found[2])
			calls[string(found[1])] = fd
			waiting[fd] = false
		} else if found := resumed.FindSubmatch(line); found != nil {
			fd = calls[string(found[1])]
		}
		if fd != "" && bytes.Contains(line, []byte("EAGAIN")) && bytes.Contains(line, []byte("(INJECTED)")) {
			waiting[fd] = true
		}
	}
	for _, waits := range waiting {
		if waits {
			return true
		}
	}
	return false
}
