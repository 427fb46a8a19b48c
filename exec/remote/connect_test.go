//go:build linux

package remote

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dropped returns an address whose SYNs are dropped: nothing accepts, and the queue of connections
// is full.
func dropped(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for range 10 {
		conn, err := net.DialTimeout("tcp4", address, 200*time.Millisecond)
		if timedOut(err) {
			return address
		}
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	require.Fail(t, "the queue accepts every connection")
	return ""
}

func timedOut(err error) bool {
	var failed net.Error
	return errors.As(err, &failed) && failed.Timeout()
}

// TestConnectTimesOut checks that an unanswered connection attempt times out long before the dial.
func TestConnectTimesOut(t *testing.T) {
	address := dropped(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := (&line{}).dial(ctx, "tcp4", address)
	require.True(t, timedOut(err), "%v", err)
	require.NoError(t, ctx.Err())
}
