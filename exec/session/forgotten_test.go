//go:build linux

package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestForgottenSessionIsUnknown checks that a session that its launcher has forgotten cannot be
// opened again, even while its processes still run.
func TestForgottenSessionIsUnknown(t *testing.T) {
	s, c := linked(t, 1)
	id := strings.Repeat("0", 32)
	s.sessions[id].exit, s.sessions[id].phase = &wire.ExitRecord{}, detached
	hello(t, c)
	r := wire.NewReader(c)
	var w wire.WelcomeRecord
	next(t, r, wire.Welcome, &w)
	require.Equal(t, []string{id}, w.Sessions)
	send(t, c, wire.Forget, 0, wire.ForgetRecord{ID: id})
	var rec wire.OpenedRecord
	for range 2 {
		send(t, c, wire.Open, 1, wire.OpenRecord{ID: id, Attach: true})
		next(t, r, wire.Opened, &rec)
		require.Equal(t, wire.OpenUnknown, rec.Error)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotNil(t, s.sessions[id], "the server still tracks its processes")
}
