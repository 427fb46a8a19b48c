//go:build linux

package rsh

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// private returns a directory that only this user can enter, as a broker requires.
func private(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return dir
}

// brokerThat returns the socket of a broker that answers every connection with the given bytes and
// disconnects.
func brokerThat(t *testing.T, answer []byte) string {
	path := filepath.Join(private(t), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 1<<16)
			_, _ = conn.Read(buf)
			_, _ = conn.Write(answer)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return path
}

func TestCallWithoutValidAnswerIs255(t *testing.T) {
	reply := AppendReply(nil, Reply{Code: 0})
	for name, c := range map[string]struct {
		socket, want string
	}{
		"no socket":                  {filepath.Join(t.TempDir(), "none"), "no launcher runs here"},
		"disconnects":                {brokerThat(t, nil), "the launcher ended before the command did"},
		"truncated answer":           {brokerThat(t, reply[:len(reply)-1]), "the launcher ended before the command did"},
		"truncated length":           {brokerThat(t, reply[:3]), "the launcher ended before the command did"},
		"malformed answer":           {brokerThat(t, []byte{0, 0, 0, 2, 9, 9}), "malformed"},
		"huge length":                {brokerThat(t, []byte{255, 255, 255, 255}), "malformed"},
		"a socket path of 108 bytes": {"/" + strings.Repeat("s", 107), "is too long: 108 bytes, at most 107"},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := Call(c.socket, Request{Host: "h", Command: "c"}, [3]int{0, 1, 2})
			require.Equal(t, 255, code)
			require.ErrorContains(t, err, c.want)
			_, err = Hosts(c.socket)
			require.ErrorContains(t, err, c.want)
			p, err := Begin(c.socket, Request{Host: "h", Command: "c"}, 1, 2)
			if err == nil {
				defer p.Close()
				code, err = p.Wait()
				require.Equal(t, 255, code)
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestStaleSocketMeansNoLauncher(t *testing.T) {
	path := filepath.Join(private(t), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	code, err := Call(path, Request{Host: "h", Command: "c"}, [3]int{0, 1, 2})
	require.Equal(t, 255, code)
	require.ErrorContains(t, err, "no launcher runs here ("+path+")")
	var hint interface{ Hint() string }
	require.ErrorAs(t, err, &hint)
	require.Contains(t, hint.Hint(), "agent run")
}

func TestCallReturnsCodeErrorAndHint(t *testing.T) {
	socket := brokerThat(t, AppendReply(nil, Reply{Code: 127, Lines: []string{"worker w: no such command", "look at PATH"}}))
	code, err := Call(socket, Request{Host: "h", Command: "c"}, [3]int{0, 1, 2})
	require.Equal(t, 127, code)
	require.EqualError(t, err, "worker w: no such command")
	var said *sentence
	require.ErrorAs(t, err, &said)
	require.Equal(t, "look at PATH", said.Hint())

	code, err = Call(brokerThat(t, AppendReply(nil, Reply{Code: 7})), Request{Host: "h", Command: "c"}, [3]int{0, 1, 2})
	require.NoError(t, err)
	require.Equal(t, 7, code)
}

func TestTooLongCommandIsRefusedLocally(t *testing.T) {
	code, err := Call("/nowhere", Request{Host: "h", Command: strings.Repeat("x", MaxMessage)}, [3]int{0, 1, 2})
	require.Equal(t, 255, code)
	require.ErrorContains(t, err, "at most 8388608")
}

func TestCloseEndsAPendingCall(t *testing.T) {
	path := filepath.Join(private(t), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	p, err := Begin(path, Request{Host: "h", Command: "c"}, 1, 2)
	require.NoError(t, err)
	conn, err := l.Accept()
	require.NoError(t, err)
	defer conn.Close()
	var code int
	waited := make(chan error)
	go func() {
		var err error
		code, err = p.Wait()
		waited <- err
	}()
	p.Close()
	require.ErrorContains(t, <-waited, "the launcher ended")
	require.Equal(t, 255, code)
	_, err = io.Copy(io.Discard, conn)
	require.NoError(t, err, "the broker sees the end of the connection")
}
