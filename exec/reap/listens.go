//go:build linux

package reap

import (
	"bytes"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Listens returns where a process itself listens on a TCP port. ok is false if it does not, or if
// we cannot see it. Another process may have inherited the same socket.
func Listens(pid int, port uint16) (at netip.AddrPort, ok bool) {
	base := "/proc/" + strconv.Itoa(pid)
	heard := map[string]netip.AddrPort{} // by inode
	var buf bytes.Buffer
	for _, name := range []string{"/net/tcp", "/net/tcp6"} {
		if ReadFile(base+name, &buf) != nil {
			continue
		}
		for _, s := range parseTCP(buf.Bytes()) {
			if s.state == tcpListen && s.local.Port() == port {
				heard[s.inode] = s.local
			}
		}
	}
	if len(heard) == 0 {
		return at, false
	}
	names, err := readNames(base + "/fd")
	if err != nil {
		return at, false
	}
	for _, name := range names {
		link, err := os.Readlink(base + "/fd/" + name)
		if inode, isSocket := strings.CutPrefix(link, "socket:["); err == nil && isSocket {
			if at, ok = heard[strings.TrimSuffix(inode, "]")]; ok {
				return at, true
			}
		}
	}
	return at, false
}
