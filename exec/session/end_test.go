//go:build linux

package session

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// TestServerWaitsForLauncherToClose checks that PID 1 does not exit before the launcher has
// received the answer to END, which the launcher shows by closing the connection. The bridge ends
// with PID 1.
func TestServerWaitsForLauncherToClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := piped(t)
		hello(t, c)
		r := wire.NewReader(bufio.NewReader(c))
		next(t, r, wire.Welcome, &wire.WelcomeRecord{})
		send(t, c, wire.End, 0, wire.EndRecord{})
		for f := (wire.Frame{}); f.Type != wire.Ended; {
			var err error
			f, err = r.Next()
			require.NoError(t, err)
		}
		time.Sleep(partTime - time.Millisecond)
		require.EqualValues(t, -1, b.outcome(), "PID 1 exits before the launcher has the answer")
		c.Close()
		require.Equal(t, JobOver, b.outcome(), "PID 1 waits for a launcher that has disconnected")
	})
}

// piped returns a worker, and the launcher's end of a connection to it in memory. Both belong in a
// synctest bubble.
func piped(t *testing.T) (*bond, net.Conn) {
	b := &bond{t: t, server: New(Config{Reaper: reap.New(), Log: slog.New(slog.DiscardHandler), Dir: "/"})}
	rw, err := b.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		rw.Close()
		b.server.abandon()
		b.server.wg.Wait()
	})
	return b, rw.(net.Conn)
}

func TestServerEndsWithoutLaunchersClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := piped(t)
		hello(t, c)
		go func() { _, _ = io.Copy(io.Discard, c) }() // until the connection is closed
		send(t, c, wire.End, 0, wire.EndRecord{})
		time.Sleep(time.Second + partTime) // flush may take a second before
		require.Equal(t, JobOver, b.outcome(), "PID 1 waits for a launcher that does not close")
	})
}

// TestOpenedExitAndEOFShareAWrite checks that the answer to OPEN, the end of the session and those of its outputs share
// one write. Each write wakes everything between the worker and the launcher.
func TestOpenedExitAndEOFShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := piped(t)
		hello(t, c)
		next(t, wire.NewReader(c), wire.Welcome, &wire.WelcomeRecord{})
		spec := wire.Spec{Line: "true", Dir: "/no/such/directory"}
		send(t, c, wire.Open, 1, wire.OpenRecord{ID: "s", Hash: spec.Hash(), Spec: &spec})
		buf := make([]byte, 64<<10)
		n, err := c.Read(buf)
		require.NoError(t, err)
		var types []wire.Type
		for r := wire.NewReader(bytes.NewReader(buf[:n])); ; {
			f, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			types = append(types, f.Type)
		}
		require.NotEmpty(t, types)
		require.Equal(t, wire.Opened, types[0])
		require.ElementsMatch(t, []wire.Type{wire.Exit, wire.EOF, wire.EOF}, types[1:])
	})
}

// TestPatientFrameAfterTheEnd checks that a frame that comes when the connection has just been closed is dropped, while
// its sender has not noticed yet.
func TestPatientFrameAfterTheEnd(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	c := newConn(nil, near)
	c.close()
	c.pushPatiently(wire.Frame{Type: wire.Opened, Channel: 1})
	c.push(wire.Frame{Type: wire.Exit, Channel: 1})
	_, _, closed := c.take()
	require.True(t, closed)
	require.Empty(t, c.patient.frames)
}

// TestPatientFramesShareAWrite checks that frames that nobody waits for go out together, or with the next other frame.
func TestPatientFramesShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, nc := piped(t)
		hello(t, nc)
		r := wire.NewReader(nc)
		next(t, r, wire.Welcome, &wire.WelcomeRecord{})
		b.server.mu.Lock()
		c := b.server.conn
		b.server.mu.Unlock()
		began := time.Now()
		for channel := range uint32(3) {
			c.pushPatiently(wire.Frame{Type: wire.Opened, Channel: channel})
			time.Sleep(patience / 4)
		}
		for channel := range uint32(3) {
			f, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, channel, f.Channel)
			require.Equal(t, patience, time.Since(began), "a frame must not make an earlier one wait longer")
		}
		c.pushPatiently(wire.Frame{Type: wire.Opened, Channel: 3})
		c.push(wire.Frame{Type: wire.Exit, Channel: 4})
		for channel := range uint32(2) {
			f, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, 3+channel, f.Channel)
		}
		require.Equal(t, patience, time.Since(began))
	})
}
