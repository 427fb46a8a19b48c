//go:build linux

package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/phrase"
)

func TestHangBeginsTheEnd(t *testing.T) {
	var e ending
	require.True(t, e.onHang(5*time.Second))
	require.False(t, e.onTrouble(time.Second, time.Second), "ranks that end now do so because of us")
	sig, ok := e.next()
	require.True(t, ok)
	require.Equal(t, "SIGTERM", phrase.SignalName(int(sig)))
	require.Equal(t, 5*time.Second, e.wait())
	told := ending{told: 15}
	require.False(t, told.onHang(time.Second))
}
