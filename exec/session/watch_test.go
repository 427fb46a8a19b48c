//go:build linux

package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestSoonestLook checks that the first look is early while a line that may start daemons is
// running.
func TestSoonestLook(t *testing.T) {
	s, _ := linked(t, 2)
	require.Equal(t, lastLook, s.observer.soonestLook())
	for _, x := range s.sessions {
		x.line = true
	}
	require.Equal(t, firstLook, s.observer.soonestLook())
	for _, x := range s.sessions {
		x.exit = &wire.ExitRecord{}
	}
	require.Equal(t, lastLook, s.observer.soonestLook())
}
