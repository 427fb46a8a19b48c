//go:build linux

package session

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestASessionOpenedAgainOnOneConnection checks a launcher that attaches to its session again and
// again, each time on another channel. The state of the connection must not grow, and the session
// must not get several turns to send.
func TestASessionOpenedAgainOnOneConnection(t *testing.T) {
	s, c := linked(t, 1)
	hello(t, c)
	r := wire.NewReader(c)
	var welcome wire.WelcomeRecord
	next(t, r, wire.Welcome, &welcome)
	const times = 100
	for channel := range uint32(times) {
		send(t, c, wire.Open, channel+1, wire.OpenRecord{ID: welcome.Sessions[0], Attach: true})
		var opened wire.OpenedRecord
		next(t, r, wire.Opened, &opened)
		require.Empty(t, opened.Error)
	}
	x := s.named(welcome.Sessions[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.conn.order, 1)
	require.Len(t, s.conn.channels, 1)
	require.Same(t, x, s.conn.channels[times])
}

// TestControlsOfAHangingStart checks a launcher that keeps sending signals to a session whose start
// hangs. It is disconnected before they fill the memory.
func TestControlsOfAHangingStart(t *testing.T) {
	s, c := linked(t, 0)
	hanging := make(chan struct{})
	s.begin = func(x *session, _ wire.Spec) {
		<-hanging
		close(x.started)
	}
	defer close(hanging)
	hello(t, c)
	spec := wire.Spec{Argv: []string{"true"}}
	send(t, c, wire.Open, 1, wire.OpenRecord{ID: "s", Hash: spec.Hash(), Spec: &spec})
	r := wire.NewReader(c)
	next(t, r, wire.Opened, &wire.OpenedRecord{})
	var many []byte
	for i := range uint64(2 * mostOrders) {
		f, err := wire.Record(wire.Control, 1, wire.ControlRecord{Seq: i + 1, Signal: 10})
		require.NoError(t, err)
		many, err = wire.Append(many, f)
		require.NoError(t, err)
	}
	_, _ = c.Write(many) // it fails when the worker has disconnected
	x := s.named("s")
	for err := error(nil); err == nil; {
		if _, err = r.Next(); err != nil {
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the launcher was not disconnected")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, mostOrders, len(x.orders))
}
