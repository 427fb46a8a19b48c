//go:build linux

package reap

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	want := l.Addr().(*net.TCPAddr).AddrPort()
	at, ok := Listens(os.Getpid(), want.Port())
	require.True(t, ok)
	require.Equal(t, want, at)
	_, ok = Listens(os.Getppid(), want.Port())
	require.False(t, ok, "another process listens on the port")
	require.NoError(t, l.Close())
	_, ok = Listens(os.Getpid(), want.Port())
	require.False(t, ok)
}
