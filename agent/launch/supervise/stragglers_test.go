//go:build linux

package supervise

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/straggler"
	"github.com/musterhq/muster/rendezvous"
)

// race lets ranks print steps for some seconds. rank 2 needs slow seconds for one, the others 1.
func (s *Supervisor) race(t *testing.T, seconds int, slow time.Duration) {
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer stop()
	for rank := range 5 {
		out := s.Progress.Hear(rank, nil)
		took := time.Second
		if rank == 2 {
			took = slow
		}
		go func() {
			for step := range 100000 {
				_, _ = fmt.Fprintf(out, "step %d\n", step)
				if sleep(ctx, took) != nil {
					return
				}
			}
		}()
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.onSteps(ctx, time.Now())
		case places := <-s.Slow.told():
			s.onStragglers(places)
		case <-ctx.Done():
			synctest.Wait()
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slowed returns a supervisor that names stragglers after a minute.
func slowed(t *testing.T, places func(context.Context) map[int]straggler.Place) (*Supervisor, *bytes.Buffer) {
	s, said := ruled(t, every10s...)
	s.Progress.End()
	s.Progress = stall.New(s.cfg.Progress, 0, time.Minute)
	s.Progress.Begin()
	s.started = []rendezvous.Worker{{Name: "w-1", Node: "gpu-12"}}
	s.Slow = NewSlow(func(f func()) { go f() }, places)
	return s, said
}

// TestAStragglerIsNamedOnce checks the messages and the report about a straggler that recovers.
func TestAStragglerIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := slowed(t, func(context.Context) map[int]straggler.Place {
			time.Sleep(3 * time.Second)
			return map[int]straggler.Place{2: {Worker: "w-1"}}
		})
		s.race(t, 300, 1500*time.Millisecond)
		require.Equal(t, "agent: rank 2 on w-1 (node gpu-12) is 50 % slower than the median of 5 ranks: 1.50 s a step, median 1.00 s\n", said.String())
		require.Equal(t, []report.Straggler{{Rank: 2, Worker: "w-1", Node: "gpu-12", Step: 1.5, Median: 1, Ranks: 5}}, s.Stragglers)
		require.True(t, s.Progress.Steps()[2].Straggler)
		said.Reset()
		s.race(t, 300, time.Second)
		require.Equal(t, "agent: rank 2 on w-1 (node gpu-12) is no longer slower than the others: 1.00 s a step, median of 5 ranks 1.00 s\n", said.String())
		require.True(t, s.Stragglers[0].Recovered)
		s.Progress.End()
	})
}

// TestAStragglerOfAnUnknownPlace checks that a command that ends before its workers have answered
// still has its straggler named.
func TestAStragglerOfAnUnknownPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		s, said := slowed(t, func(context.Context) map[int]straggler.Place {
			<-answer
			return nil
		})
		s.race(t, 65, 1500*time.Millisecond)
		require.Empty(t, said.String())
		s.lateStragglers()
		close(answer)
		require.Equal(t, "agent: rank 2 is 50 % slower than the median of 5 ranks: 1.50 s a step, median 1.00 s\n", said.String())
		s.lateStragglers()
		require.Len(t, s.Stragglers, 1)
		s.Progress.End()
	})
}
