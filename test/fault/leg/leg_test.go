package leg_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/test/fault/leg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink accepts one connection. It delivers the received bytes and the error that ended the connection.
func sink(t *testing.T, network, address string) (net.Listener, <-chan []byte, <-chan error) {
	ln, err := net.Listen(network, address)
	require.NoError(t, err)
	got, ended := make(chan []byte, 1), make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b, err := io.ReadAll(c)
		got <- b
		ended <- err
	}()
	t.Cleanup(func() { ln.Close() })
	return ln, got, ended
}

func TestStrikePassesExactByteCount(t *testing.T) {
	for _, network := range []string{"tcp4", "unix"} {
		for _, f := range []leg.Fault{leg.FIN, leg.RST} {
			for _, after := range []int{0, 1, 99, 5000} {
				dir := t.TempDir()
				at, in := "127.0.0.1:0", "127.0.0.1:0"
				if network == "unix" {
					at, in = dir+"/a", dir+"/b"
				}
				ln, got, _ := sink(t, network, in)
				l, err := leg.Listen(network, at, network, ln.Addr().String(), nil)
				require.NoError(t, err)
				s := &leg.Strike{Fault: f, Way: leg.Down, After: after}
				l.ArmNext(s)
				c, err := net.Dial(network, l.Addr())
				require.NoError(t, err)
				_, err = c.Write(make([]byte, 20000))
				require.NoError(t, err)
				_, err = c.Read(make([]byte, 1))
				require.Error(t, err)
				if f == leg.RST {
					require.NotErrorIs(t, err, io.EOF, "%s after %d: a reset", network, after)
				} else {
					require.ErrorIs(t, err, io.EOF)
				}
				c.Close()
				if network == "tcp4" && f == leg.RST {
					<-got // a reset may drop bytes that were not read yet
				} else {
					require.Len(t, <-got, after, "%s %s", network, f)
				}
				require.Eventually(t, s.Struck, 5*time.Second, time.Millisecond)
				l.Close()
			}
		}
	}
}

func TestSlowDirectionsLoseNothing(t *testing.T) {
	for _, f := range []leg.Fault{leg.Throttle, leg.Bytewise} {
		ln, got, ended := sink(t, "tcp4", "127.0.0.1:0")
		l, err := leg.Listen("tcp4", "127.0.0.1:0", "tcp4", ln.Addr().String(), nil)
		require.NoError(t, err)
		l.ArmNext(&leg.Strike{Fault: f, Way: leg.Down, After: 7})
		c, err := net.Dial("tcp4", l.Addr())
		require.NoError(t, err)
		_, err = c.Write(make([]byte, 300000))
		require.NoError(t, err)
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Len(t, <-got, 300000)
		require.NoError(t, <-ended)
		c.Close()
		l.Close()
	}
}

func TestStallReportsNoError(t *testing.T) {
	ln, got, _ := sink(t, "tcp4", "127.0.0.1:0")
	l, err := leg.Listen("tcp4", "127.0.0.1:0", "tcp4", ln.Addr().String(), nil)
	require.NoError(t, err)
	require.False(t, l.Stall())
	c, err := net.Dial("tcp4", l.Addr())
	require.NoError(t, err)
	defer c.Close()
	require.Eventually(t, l.Stall, 5*time.Second, time.Millisecond)
	_, err = c.Write([]byte("lost"))
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout")
	require.Empty(t, got)
	l.Close()
	require.Empty(t, <-got)
}
