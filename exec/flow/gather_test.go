package flow

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// gathering is an Out that gathers for 100 ms, with its sender.
type gathering struct {
	*Out
	t     *testing.T
	kicks atomic.Int32
}

func newGathering(t *testing.T) *gathering {
	g := &gathering{t: t}
	g.Out = NewOut(1<<20, Limits{Floor: 1 << 20, Stream: 1 << 20}, func() { g.kicks.Add(1) })
	g.Gather(100 * time.Millisecond)
	return g
}

func (g *gathering) write(n int) {
	_, err := g.Write(make([]byte, n))
	require.NoError(g.t, err)
}

// sent sends all bytes that may be sent now, and returns their number.
func (g *gathering) sent() (n int) {
	p := make([]byte, 64<<10)
	for {
		pending := g.Pending()
		piece, ok, err := g.Next(p)
		require.NoError(g.t, err)
		require.Equal(g.t, pending, ok)
		if !ok || piece.End {
			return n
		}
		n += piece.N
	}
}

func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGathering(t)
		defer g.Discard()
		g.write(10)
		require.Equal(t, 10, g.sent(), "the first bytes are sent at once")
		kicks := g.kicks.Load()
		for range 9 {
			time.Sleep(10 * time.Millisecond)
			g.write(10)
			require.Zero(t, g.sent())
		}
		require.Equal(t, kicks, g.kicks.Load(), "the sender is not woken")
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, kicks+1, g.kicks.Load())
		require.Equal(t, 90, g.sent())

		g.write(gatherSize - 1)
		require.Zero(t, g.sent())
		g.write(1)
		require.Equal(t, gatherSize, g.sent(), "gatherSize bytes are sent at once")
		time.Sleep(50 * time.Millisecond)
		g.write(10)
		kicks = g.kicks.Load()
		time.Sleep(50*time.Millisecond - 1)
		synctest.Wait()
		require.Zero(t, g.sent(), "the time counts from the last sent piece")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Greater(t, g.kicks.Load(), kicks, "the sender is woken, although the timer was set before that piece")
		require.Equal(t, 10, g.sent())

		time.Sleep(time.Second)
		g.write(10)
		require.Equal(t, 10, g.sent(), "bytes after a pause are sent at once")
		g.write(10)
		g.End()
		require.Equal(t, 10, g.sent(), "the EOF sends the gathered bytes too")
	})
}

func TestGatherIsHurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGathering(t)
		defer g.Discard()
		g.write(10)
		g.sent()
		kicks := g.kicks.Load()
		require.False(t, g.Hurry(), "no bytes are held back")
		require.Equal(t, kicks, g.kicks.Load())
		g.write(10)
		require.True(t, g.Hurry())
		require.False(t, g.Hurry(), "a second Hurry has nothing to do")
		require.Equal(t, kicks+1, g.kicks.Load())
		require.Equal(t, 10, g.sent())
		g.write(10)
		require.Zero(t, g.sent(), "Hurry does not apply to later bytes")
		require.NoError(t, g.Resume(15))
		require.Equal(t, 15, g.sent(), "after a redial, bytes are sent at once")
	})
}

func TestHurryWaitsForTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGathering(t)
		g.write(10)
		g.sent()
		for _, row := range []struct {
			world string
			free  func()
			waits time.Duration
		}{
			{"the sender sends at once", func() { g.sent() }, 0},
			{"the sender does not send", func() {}, longestBehind},
			{"the stream was discarded", g.Discard, 0},
		} {
			g.write(10)
			began, hurried := time.Now(), make(chan bool)
			go func() { hurried <- g.Hurry() }()
			synctest.Wait()
			row.free()
			require.True(t, <-hurried, row.world)
			require.Equal(t, row.waits, time.Since(began), row.world)
			g.sent()
		}
	})
}

func TestNoGatherByDefault(t *testing.T) {
	g := newGathering(t)
	g.Gather(0)
	for range 3 {
		g.write(10)
		require.Equal(t, 10, g.sent())
	}
	g.Gather(time.Hour)
	require.Equal(t, longestGather, g.gather.every)
}
