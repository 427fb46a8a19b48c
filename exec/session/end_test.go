//go:build linux

package session

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
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

// TestExitAndEOFShareAWrite checks that the ends of a session and of its outputs share one write,
// because each write wakes everything between the worker and the launcher.
func TestExitAndEOFShareAWrite(t *testing.T) {
	_, c := linked(t, 0)
	hello(t, c)
	next(t, wire.NewReader(c), wire.Welcome, &wire.WelcomeRecord{})
	spec := wire.Spec{Argv: []string{"none"}}
	send(t, c, wire.Open, 1, wire.OpenRecord{ID: "s", Hash: spec.Hash(), Spec: &spec})
	buf := make([]byte, 64<<10)
	for {
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
		if slices.Contains(types, wire.Exit) || slices.Contains(types, wire.EOF) {
			require.Subset(t, types, []wire.Type{wire.Exit, wire.EOF})
			return
		}
	}
}
