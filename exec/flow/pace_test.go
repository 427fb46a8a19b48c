package flow

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var again atomic.Int32
		p := NewPace(func() { again.Add(1) })
		defer p.Stop()
		require.False(t, p.Due(0, true), "nothing to say")
		require.True(t, p.Due(smallPiece, false), "the first goes at once")
		require.False(t, p.Due(1, false), "little waits")
		require.True(t, p.Due(2, true), "but not at the end of a stream")
		require.False(t, p.Due(smallPiece, false))
		require.True(t, p.Due(paceSize, false), "nor for so many bytes")

		require.False(t, p.Due(smallPiece, false))
		time.Sleep(paceTime)
		synctest.Wait()
		require.EqualValues(t, 1, again.Load(), "held back once, asked again once")
		require.True(t, p.Due(smallPiece, false))

		require.False(t, p.Due(1, false))
		time.Sleep(smallTime - time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 1, again.Load(), "little waits for long")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2, again.Load())
		require.True(t, p.Due(1, false))

		require.False(t, p.Due(1, false))
		require.False(t, p.Due(smallPiece, false), "then much comes, and waits no longer than much")
		time.Sleep(paceTime)
		synctest.Wait()
		require.EqualValues(t, 3, again.Load())
		require.True(t, p.Due(smallPiece, false))
		time.Sleep(10 * smallTime)
		synctest.Wait()
		require.EqualValues(t, 3, again.Load())
		require.True(t, p.Due(smallPiece, false), "after a pause at once")

		time.Sleep(10 * smallTime)
		require.False(t, p.Due(1, false), "little waits after a pause too")
		time.Sleep(smallTime / 2)
		require.False(t, p.Due(2, false))
		time.Sleep(smallTime / 2)
		synctest.Wait()
		require.EqualValues(t, 4, again.Load())
		require.True(t, p.Due(2, false), "since it was there first")
	})
}
