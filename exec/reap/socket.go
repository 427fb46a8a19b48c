//go:build linux

package reap

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socketCalls are system calls whose first argument is the descriptor for which they wait.
var socketCalls = []int{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CONNECT,
	unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
}

// TCP socket states in /proc/PID/net/tcp (include/net/tcp_states.h).
const (
	tcpSynSent   = 2
	tcpCloseWait = 8
	tcpListen    = 10
)

// Peer is the remote end of the TCP socket for which a process waits.
type Peer struct {
	Address string // IP:PORT; "" if it waits for no such socket, or if that is not known
	Closed  bool   // the remote end has closed the connection
	// Unheard means that the connection is not established, the remote IP is the socket's own, and
	// no process listens there.
	Unheard bool
}

// peerOf finds the socket for which a process waits, by the text of its syscall file.
func peerOf(base string, call []byte) Peer {
	fields := strings.Fields(string(call))
	number := parseCall(call)
	if len(fields) < 2 || !slices.Contains(socketCalls, number) {
		return Peer{}
	}
	fd, err := strconv.ParseUint(fields[1], 0, 31)
	if err != nil {
		return Peer{}
	}
	link, err := os.Readlink(base + "/fd/" + strconv.FormatUint(fd, 10))
	inode, isSocket := strings.CutPrefix(link, "socket:[")
	if err != nil || !isSocket {
		return Peer{}
	}
	inode = strings.TrimSuffix(inode, "]")
	var all []tcpSocket
	var buf bytes.Buffer
	for _, name := range []string{"/net/tcp", "/net/tcp6"} {
		if ReadFile(base+name, &buf) == nil {
			all = append(all, parseTCP(buf.Bytes())...)
		}
	}
	return peerIn(all, inode)
}

// tcpSocket is a line of /proc/PID/net/tcp or tcp6.
type tcpSocket struct {
	local, remote netip.AddrPort
	state         uint64
	inode         string
}

func peerIn(all []tcpSocket, inode string) Peer {
	for _, s := range all {
		if s.inode != inode || s.state == tcpListen || s.remote.Port() == 0 {
			continue
		}
		p := Peer{Address: s.remote.String(), Closed: s.state == tcpCloseWait}
		p.Unheard = s.state == tcpSynSent && s.remote.Addr() == s.local.Addr()
		for _, other := range all {
			if other.state == tcpListen && other.local.Port() == s.remote.Port() &&
				(other.local.Addr() == s.remote.Addr() || other.local.Addr().IsUnspecified()) {
				p.Unheard = false
			}
		}
		return p
	}
	return Peer{}
}

// parseTCP reads /proc/PID/net/tcp or tcp6 (proc_pid_net(5)), and skips what it cannot parse.
func parseTCP(text []byte) (all []tcpSocket) {
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) < 10 {
			continue
		}
		local, ok := parseEnd(f[1])
		remote, also := parseEnd(f[2])
		state, err := strconv.ParseUint(f[3], 16, 8)
		if ok && also && err == nil {
			all = append(all, tcpSocket{local, remote, state, f[9]})
		}
	}
	return all
}

// parseEnd reads ADDRESS:PORT in hexadecimal. Each four bytes of the address are in little-endian
// order, which is that of all our machines.
func parseEnd(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	n, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), true
}
