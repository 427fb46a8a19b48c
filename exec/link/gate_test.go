package link

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGateLetsOneKnock: 100 links meet a server that is away for 10 s; they
// are through within a second and a half of its return, and meanwhile it saw
// little more than one knock a second.
func TestGateLetsOneKnock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		back := time.Now().Add(10 * time.Second)
		knocks := make(chan time.Time, 1000)
		through := make(chan time.Time, 100)
		for range 100 {
			go func() {
				for {
					pass, err := g.Enter(context.Background())
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
		// The burst that finds the gate still open, then one knock at a time.
		require.LessOrEqual(t, early, dialBurst+20)
	})
}

func TestGateWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		pass, err := g.Enter(context.Background())
		require.NoError(t, err)
		pass.Done(false)
		require.ErrorIs(t, g.Wait(expired()), context.Canceled)
		probe, err := g.Enter(context.Background())
		require.NoError(t, err)
		probe.Withdraw()
		require.ErrorIs(t, g.Wait(expired()), context.Canceled, "it stays closed")
		probe, err = g.Enter(context.Background())
		require.NoError(t, err)
		probe.Done(true)
		require.NoError(t, g.Wait(context.Background()))
	})
}

func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
