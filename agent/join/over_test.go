package join

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// TestMembersKnowRankZeroBeforeTheEnd checks that a member is told to gather before it is told the end.
// It was ready when a replacement of rank 0 began, and no restart is left. A member that is told
// nothing but the end takes it for that of another rank 0.
func TestMembersKnowRankZeroBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		coord := barrier.NewCoordinator(barrier.Config{Size: 1, Token: []byte("token"), Instance: "new"})
		var running sync.WaitGroup
		running.Go(func() { coord.Rest(ctx) })
		m := barrier.NewMember(barrier.MemberConfig{Card: barrier.Card{Size: 1, Instance: "i0"}, Token: []byte("token"),
			Dial: func(context.Context) (net.Conn, error) {
				ours, theirs := net.Pipe()
				coord.Take(ctx, theirs)
				return ours, nil
			}})
		m.Report(barrier.News{Ready: true, Attempt: 0})
		running.Go(func() { _ = m.Run(ctx) })
		var phases []string
		running.Go(func() {
			for {
				select {
				case e := <-m.Events():
					if e.Order != nil {
						phases = append(phases, e.Order.Phase)
						require.Equal(t, "new", e.Order.By)
					}
				case <-ctx.Done():
					return
				}
			}
		})
		time.Sleep(time.Second)
		l, err := newLead(Config{Workers: 1, Timeout: time.Minute, RestartOn: retry.Default}, coord, place{}, t.Logf)
		require.NoError(t, err)
		l.run(ctx)
		cancel()
		running.Wait()
		require.Equal(t, []string{barrier.PhaseGather, barrier.PhaseOver}, phases)
	})
}
