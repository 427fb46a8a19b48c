package flow

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := 0
		p := NewPace(func() { again++ })
		defer p.Stop()
		require.False(t, p.Due(0), "nothing to say")
		require.True(t, p.Due(1), "the first goes at once")
		require.False(t, p.Due(1), "the next waits")
		require.False(t, p.Due(2))
		require.True(t, p.Due(paceSize), "but not for so many bytes")
		require.False(t, p.Due(1))
		time.Sleep(paceTime)
		synctest.Wait()
		require.Equal(t, 1, again, "held back once, asked again once")
		require.True(t, p.Due(1))
		time.Sleep(10 * paceTime)
		synctest.Wait()
		require.Equal(t, 1, again)
		require.True(t, p.Due(1), "after a pause at once")
	})
}
