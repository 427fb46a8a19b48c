//go:build linux

package session

import (
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
