package link

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGateLetsOneKnock has 100 links dial a server that is away for 10 s. All must connect within
// 1.5 s of its return. Until then the server may see little more than one probe per second.
func TestGateLetsOneKnock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		back := time.Now().Add(10 * time.Second)
		knocks := make(chan time.Time, 1000)
		through := make(chan time.Time, 100)
		for range 100 {
			go func() {
				for {
					pass, err := g.Enter(context.Background(), true)
					if err != nil {
						t.Error(err)
						return
					}
					knocks <- time.Now()
					reached := !time.Now().Before(back)
					pass.Done(reached)
					if reached {
						through <- time.Now()
						return
					}
				}
			}()
		}
		for range 100 {
			require.Less(t, (<-through).Sub(back), 1500*time.Millisecond)
		}
		early := 0
		for len(knocks) > 0 {
			if (<-knocks).Before(back) {
				early++
			}
		}
		// The burst that finds the gate still open, then one probe at a time.
		require.LessOrEqual(t, early, redialBurst+20)
	})
}

func TestGateWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		pass, err := g.Enter(context.Background(), false)
		require.NoError(t, err)
		pass.Done(false)
		require.ErrorIs(t, g.Wait(expired()), context.Canceled)
		probe, err := g.Enter(context.Background(), false)
		require.NoError(t, err)
		probe.Withdraw()
		require.ErrorIs(t, g.Wait(expired()), context.Canceled, "it stays closed")
		probe, err = g.Enter(context.Background(), false)
		require.NoError(t, err)
		probe.Done(true)
		require.NoError(t, g.Wait(context.Background()))
	})
}

// TestGateSpreadsRedials checks that redials are spread, however fast their answers come.
func TestGateSpreadsRedials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		began := time.Now()
		for range redialBurst + redialsPerSecond {
			pass, err := g.Enter(t.Context(), true)
			require.NoError(t, err)
			pass.Done(true)
		}
		require.InDelta(t, time.Second, time.Since(began), float64(10*time.Millisecond))
		_, err := g.Enter(expired(), true)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestGateCountsDials checks that unanswered dials delay the others, for one second.
func TestGateCountsDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		began := time.Now()
		var under []Pass
		for range dialsAtOnce {
			pass, err := g.Enter(t.Context(), false)
			require.NoError(t, err)
			under = append(under, pass)
		}
		_, err := g.Enter(expired(), false)
		require.ErrorIs(t, err, context.Canceled)
		under[0].Done(true)
		under[1].Withdraw()
		for range 2 {
			_, err := g.Enter(t.Context(), false)
			require.NoError(t, err, "in the place of one that has its answer")
		}
		require.Zero(t, time.Since(began))
		for range dialsAtOnce {
			_, err := g.Enter(t.Context(), false)
			require.NoError(t, err)
		}
		require.Equal(t, slowDial, time.Since(began), "the slow ones do not count any more")
		for _, pass := range under[2:] {
			pass.Done(true)
		}
		require.Len(t, g.dials, dialsAtOnce, "nor twice")
		time.Sleep(slowDial)
		synctest.Wait()
		require.Empty(t, g.dials)
	})
}

// TestGateClosesForThoseWhoWait checks that callers that wait for other dials do not dial if these
// find that the server is away.
func TestGateClosesForThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		var under []Pass
		for range dialsAtOnce {
			pass, err := g.Enter(t.Context(), false)
			require.NoError(t, err)
			under = append(under, pass)
		}
		entered := make(chan Pass)
		go func() {
			pass, err := g.Enter(t.Context(), false)
			if err != nil {
				t.Error(err)
			}
			entered <- pass
		}()
		synctest.Wait()
		for _, pass := range under {
			pass.Done(false)
		}
		require.True(t, (<-entered).probe)
		require.Empty(t, g.dials)
	})
}

func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
