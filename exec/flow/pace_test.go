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
		require.False(t, p.Due(0, true), "nothing is due without bytes")
		require.True(t, p.Due(smallPiece, false), "the first bytes are acknowledged at once")
		require.False(t, p.Due(1, false), "a few bytes wait")
		require.True(t, p.Due(2, true), "the end of a stream does not wait")
		require.False(t, p.Due(smallPiece, false))
		require.True(t, p.Due(paceSize, false), "paceSize bytes do not wait")

		require.False(t, p.Due(smallPiece, false))
		time.Sleep(paceTime)
		synctest.Wait()
		require.EqualValues(t, 1, again.Load(), "again is called once for one delayed acknowledgement")
		require.True(t, p.Due(smallPiece, false))

		require.False(t, p.Due(1, false))
		time.Sleep(smallTime - time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 1, again.Load(), "a few bytes wait for smallTime")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2, again.Load())
		require.True(t, p.Due(1, false))

		require.False(t, p.Due(1, false))
		require.False(t, p.Due(smallPiece, false), "many bytes after a few shorten the wait to paceTime")
		time.Sleep(paceTime)
		synctest.Wait()
		require.EqualValues(t, 3, again.Load())
		require.True(t, p.Due(smallPiece, false))
		time.Sleep(10 * smallTime)
		synctest.Wait()
		require.EqualValues(t, 3, again.Load())
		require.True(t, p.Due(smallPiece, false), "many bytes after a pause are acknowledged at once")

		time.Sleep(10 * smallTime)
		require.False(t, p.Due(1, false), "a few bytes wait even after a pause")
		time.Sleep(smallTime / 2)
		require.False(t, p.Due(2, false))
		time.Sleep(smallTime / 2)
		synctest.Wait()
		require.EqualValues(t, 4, again.Load())
		require.True(t, p.Due(2, false), "the wait counts from the first of the bytes")
	})
}
