package join

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// TestASessionWithALostMemberEnds opens a session after its member was lost and nothing has changed
// since, as for a process that waited for an address (Ray's nodes).
func TestASessionWithALostMemberEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := newLead(Config{Workers: 2, Lease: time.Minute, RestartOn: "lost"}, barrier.NewCoordinator(barrier.Config{Size: 2}), place{}, t.Logf)
		require.NoError(t, err)
		l.orders = map[int]*work{}
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() {
			l.follow(ctx, []barrier.Card{{Rank: 0, Instance: "i0"}, {Rank: 1, Instance: "i1"}}, func(int) {})
		})
		time.Sleep(time.Second)
		s, err := chair{lead: l, rank: 1, instance: "i1"}.Open(ctx, "", wire.Spec{}, nil, nil)
		require.NoError(t, err)
		patience, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		_, err = s.Wait(patience)
		var lost *lostError
		require.ErrorAs(t, err, &lost)
		cancel()
		following.Wait()
	})
}
