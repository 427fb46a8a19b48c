//go:build linux

package rsh

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const soon = 50 * time.Millisecond

// call does the same as Call, with another limit.
func call(socket string, r Request, limit time.Duration) (Reply, error) {
	conn, err := request(socket, AppendRequest(nil, KindRun, r), nil, limit)
	if err != nil {
		return Reply{}, err
	}
	defer unix.Close(conn)
	return readReply(func(b []byte) error { return readFull(conn, b) })
}

// wait does the same as Begin and Wait, with another limit.
func wait(socket string, limit time.Duration) (int, error) {
	p, err := Begin(socket, Request{Host: "h", Command: "c"}, 1, 2)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	p.limit = limit
	return p.Wait()
}

// full returns a socket whose queue accepts only one connection.
func full(t *testing.T) string {
	path := filepath.Join(private(t), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	require.NoError(t, unix.Listen(fd, 0))
	return path
}

func TestCallTimesOutIfNotAccepted(t *testing.T) {
	path := filepath.Join(private(t), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()

	_, err = call(path, Request{Host: "h", Command: "c"}, soon)
	require.ErrorIs(t, err, errNotTaken, "the request is in the queue")
	_, err = call(path, Request{Host: "h", Command: strings.Repeat("x", 4<<20)}, soon)
	require.ErrorIs(t, err, errNotTaken, "the request does not fit in the queue")
	code, err := wait(path, soon)
	require.ErrorIs(t, err, errNotTaken)
	require.Equal(t, 255, code)

	path = full(t)
	_, err = call(path, Request{Host: "h", Command: "c"}, soon)
	require.ErrorIs(t, err, errNotTaken, "the connection stays in the queue")
	_, err = call(path, Request{Host: "h", Command: "c"}, soon)
	require.ErrorIs(t, err, errNotTaken, "the queue is full")
}

func TestAcceptedCommandHasNoTimeout(t *testing.T) {
	path := filepath.Join(private(t), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<16))
			time.Sleep(6 * soon) // the test is about answers that take longer than the limit
			reply := AppendReply(nil, Reply{Code: 7})
			_, _ = conn.Write(reply[:6])
			time.Sleep(6 * soon)
			_, _ = conn.Write(reply[6:])
			conn.Close()
		}
	}()
	reply, err := call(path, Request{Host: "h", Command: "c"}, soon)
	require.NoError(t, err)
	require.Equal(t, 7, reply.Code)
	code, err := wait(path, soon)
	require.NoError(t, err)
	require.Equal(t, 7, code)
	<-done
}
