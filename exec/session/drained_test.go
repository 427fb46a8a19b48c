//go:build linux

package session

import (
	"bufio"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestLaunchersSendTheGrace checks that a worker knows its launcher's grace for processes when the
// worker is stopped by another cause.
func TestLaunchersSendTheGrace(t *testing.T) {
	s, c := linked(t, 0)
	require.Zero(t, s.Grace())
	send(t, c, wire.Hello, 0, wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, LeaseSeconds: 60,
		GraceMillis: 90_000, Epoch: wire.Epoch{UID: "a"}})
	next(t, wire.NewReader(bufio.NewReader(c)), wire.Welcome, &wire.WelcomeRecord{})
	require.Equal(t, 90*time.Second, s.Grace())
}
