package flow

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// gathering is an Out that gathers for 100 ms, and its sender.
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

// sent sends what may be sent now, and returns how many bytes that was.
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
		require.Equal(t, 10, g.sent(), "the first at once")
		kicks := g.kicks.Load()
		for range 9 {
			time.Sleep(10 * time.Millisecond)
			g.write(10)
			require.Zero(t, g.sent())
		}
		require.Equal(t, kicks, g.kicks.Load(), "nobody is woken")
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, kicks+1, g.kicks.Load())
		require.Equal(t, 90, g.sent())

		g.write(gatherSize - 1)
		require.Zero(t, g.sent())
		g.write(1)
		require.Equal(t, gatherSize, g.sent(), "much at once")
		time.Sleep(50 * time.Millisecond)
		g.write(10)
		kicks = g.kicks.Load()
		time.Sleep(50*time.Millisecond - 1)
		synctest.Wait()
		require.Zero(t, g.sent(), "counted from the last piece")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Greater(t, g.kicks.Load(), kicks, "offered again, though the timer had been set before that piece")
		require.Equal(t, 10, g.sent())

		time.Sleep(time.Second)
		g.write(10)
		require.Equal(t, 10, g.sent(), "after a pause at once")
		g.write(10)
		g.End()
		require.Equal(t, 10, g.sent(), "the end takes it along")
	})
}

func TestGatherIsHurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGathering(t)
		defer g.Discard()
		g.write(10)
		g.sent()
		kicks := g.kicks.Load()
		require.False(t, g.Hurry(), "nothing is held")
		require.Equal(t, kicks, g.kicks.Load())
		g.write(10)
		require.True(t, g.Hurry())
		require.False(t, g.Hurry(), "once")
		require.Equal(t, kicks+1, g.kicks.Load())
		require.Equal(t, 10, g.sent())
		g.write(10)
		require.Zero(t, g.sent(), "it was for what was there")
		require.NoError(t, g.Resume(15))
		require.Equal(t, 15, g.sent(), "a new connection waits for nothing")
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
			{"it sends at once", func() { g.sent() }, 0},
			{"it is away", func() {}, longestBehind},
			{"nobody reads any more", g.Discard, 0},
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

func TestNobodyGathersUnasked(t *testing.T) {
	g := newGathering(t)
	g.Gather(0)
	for range 3 {
		g.write(10)
		require.Equal(t, 10, g.sent())
	}
	g.Gather(time.Hour)
	require.Equal(t, longestGather, g.gather.every)
}
