//go:build linux

package broker

import (
	"encoding/binary"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/rsh"
)

// FuzzReceive sends a request in two parts, with any number of descriptors at its start. The
// request must be received completely and unchanged, or rejected with no descriptor left open.
func FuzzReceive(f *testing.F) {
	f.Add(rsh.AppendRequest(nil, rsh.KindRun, rsh.Request{Host: "h", User: "u", Command: "c"}), uint8(3), uint16(4))
	f.Add(rsh.AppendRequest(nil, rsh.KindRun, rsh.Request{Host: "h", Command: "c", NoStdin: true}), uint8(2), uint16(9))
	f.Add(rsh.AppendRequest(nil, rsh.KindStacks, rsh.Request{}), uint8(0), uint16(1))
	f.Add(rsh.AppendRequest(nil, rsh.KindDoctor, rsh.Request{}), uint8(0), uint16(1))
	f.Add(rsh.AppendRequest(nil, rsh.KindTop, rsh.Request{}), uint8(0), uint16(1))
	f.Add(rsh.AppendRequest(nil, rsh.KindHosts, rsh.Request{}), uint8(5), uint16(2))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1}, uint8(1), uint16(3))
	null, err := os.Open(os.DevNull)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { null.Close() })
	f.Fuzz(func(t *testing.T, b []byte, fds uint8, cut uint16) {
		if len(b) > 64<<10 {
			b = b[:64<<10] // the socket's limit
		}
		before := openDescriptors(t)
		stub, conn := connected(t)
		var passed []int
		for range fds % 8 {
			passed = append(passed, int(null.Fd()))
		}
		at := min(int(cut), len(b))
		if at == 0 {
			passed = nil // descriptors can only be sent together with bytes
		} else {
			_, _, err := stub.WriteMsgUnix(b[:at], syscall.UnixRights(passed...), nil)
			require.NoError(t, err)
		}
		if at < len(b) {
			_, err := stub.Write(b[at:])
			require.NoError(t, err)
		}
		require.NoError(t, stub.CloseWrite())
		q, err := receive(t.Context(), conn, make(chan struct{}, 1))
		if err == nil {
			// Bytes after a complete request do not matter yet.
			kind, want, perr := rsh.ParseRequest(b[4 : 4+binary.BigEndian.Uint32(b)])
			require.NoError(t, perr)
			require.Equal(t, kind, q.kind)
			require.Equal(t, want, q.Request)
			require.Len(t, q.fds, len(passed))
			for _, fd := range q.fds {
				require.NoError(t, syscall.Close(fd))
			}
		} else {
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Empty(t, q.fds)
		}
		stub.Close()
		conn.Close()
		require.Equal(t, before, openDescriptors(t))
	})
}

// connected returns a connected pair of sockets.
func connected(t *testing.T) (*net.UnixConn, *net.UnixConn) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}
