//go:build linux

package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEndingOnTrouble(t *testing.T) {
	var e ending
	require.True(t, e.onTrouble(troublePatience, 10*time.Second))
	require.False(t, e.onTrouble(troublePatience, 10*time.Second), "once")
	require.Equal(t, troublePatience, e.wait())
	require.True(t, e.onLost(10*time.Second), "a lost worker ends it sooner")
	require.Equal(t, lostPatience, e.wait())
	e = ending{}
	_, _ = e.onSignal(15, time.Second, time.Now())
	require.False(t, e.onTrouble(troublePatience, time.Second), "told to stop already")
}
