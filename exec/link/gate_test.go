package link

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGateLetsOneLinkProbe has 100 links dial a server that is down for 10 s. All links must
// connect within 1.5 s of its return. Until then, the server sees little more than one probe per
// second.
func TestGateLetsOneLinkProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		back := time.Now().Add(10 * time.Second)
		dials := make(chan time.Time, 1000)
		through := make(chan time.Time, 100)
		for range 100 {
			go func() {
				for {
					pass, err := g.Enter(context.Background(), true)
					if err != nil {
						t.Error(err)
						return
					}
					dials <- time.Now()
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
		for len(dials) > 0 {
			if (<-dials).Before(back) {
				early++
			}
		}
		// The first burst finds the gate still open. After that, links probe one at a time.
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
		require.ErrorIs(t, g.Wait(expired()), context.Canceled, "the gate stays closed")
		probe, err = g.Enter(context.Background(), false)
		require.NoError(t, err)
		probe.Done(true)
		require.NoError(t, g.Wait(context.Background()))
	})
}

// TestGateSpreadsRedials checks that redials are rate-limited, however fast the server answers.
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

// TestGateCountsDials checks that unanswered dials delay other dials, but only for one second.
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
			require.NoError(t, err, "a dial takes the place of an answered dial")
		}
		require.Zero(t, time.Since(began))
		for range dialsAtOnce {
			_, err := g.Enter(t.Context(), false)
			require.NoError(t, err)
		}
		require.Equal(t, slowDial, time.Since(began), "slow dials no longer count")
		for _, pass := range under[2:] {
			pass.Done(true)
		}
		require.Len(t, g.dials, dialsAtOnce, "an answer to a slow dial is not counted twice")
		time.Sleep(slowDial)
		synctest.Wait()
		require.Empty(t, g.dials)
	})
}

// TestGateClosesForWaitingLinks checks that links that wait for other dials do not dial if these
// dials find that the server is down.
func TestGateClosesForWaitingLinks(t *testing.T) {
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
