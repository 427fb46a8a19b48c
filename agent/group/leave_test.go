package group

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/wire"
)

// TestLeave: when a worker departs, the others are asked at once and once, its own processes
// when these have ended, and its end is the cause.
func TestLeave(t *testing.T) {
	for name, tc := range map[string]struct {
		parts   []framework.Part
		first   act // of the worker that departs, after 1 s
		others  []act
		own     time.Duration // when it is told; 0: never, it has ended
		asked   []time.Duration
		code    int
		stopped bool
		took    time.Duration
	}{
		"it waits for the others": {first: act{after: 9 * time.Second, reason: wire.ReasonPreempted}, others: []act{{term: 4 * time.Second}, {term: 7 * time.Second}},
			own: 8 * time.Second, asked: []time.Duration{time.Second, time.Second}, code: names.ExitHopeless, stopped: true, took: 9 * time.Second},
		"it has ended before them": {first: act{after: 2 * time.Second, reason: wire.ReasonPreempted}, others: []act{{term: 7 * time.Second}},
			asked: []time.Duration{time.Second}, code: names.ExitHopeless, stopped: true, took: 8 * time.Second},
		"one does not end": {first: act{after: 2 * time.Second, reason: wire.ReasonPreempted}, others: []act{{stubborn: true}},
			asked: []time.Duration{time.Second}, code: names.ExitHopeless, stopped: true, took: 21 * time.Second},
		"what serves ends after it": {parts: []framework.Part{works, works, serves}, first: act{after: 6 * time.Second, reason: wire.ReasonPreempted},
			others: []act{{term: 3 * time.Second}, {term: time.Second}}, own: 4 * time.Second,
			asked: []time.Duration{time.Second, 6*time.Second + settleTime}, code: names.ExitHopeless, stopped: true, took: 7*time.Second + settleTime},
		"the one that decides is not done": {parts: []framework.Part{works, decides}, first: act{after: 5 * time.Second, reason: wire.ReasonPreempted},
			others: []act{{term: 2 * time.Second}}, own: 3 * time.Second, asked: []time.Duration{time.Second}, code: names.ExitHopeless, stopped: true, took: 5 * time.Second},
		"it has just done its work": {first: act{after: 1500 * time.Millisecond}, others: []act{{term: 3 * time.Second}},
			asked: []time.Duration{time.Second}, stopped: true, took: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.first.mute = true // its worker stops it by itself
				cfg, stages := cast(tc.parts, append([]act{tc.first}, tc.others...)...)
				g := New(cfg)
				began := time.Now()
				done := make(chan Result, 1)
				go func() { done <- g.Run(t.Context()) }()
				time.Sleep(time.Second)
				g.Leave("w-0", 20*time.Second)
				g.Leave("w-1", 20*time.Second) // the first is enough
				r := <-done
				require.Equal(t, tc.took, time.Since(began))
				require.Equal(t, tc.code, r.Code)
				require.Equal(t, tc.stopped, r.Stopped, "nobody calls that a success")
				for i, at := range append([]time.Duration{tc.own}, tc.asked...) {
					var told []time.Duration
					for _, when := range stages[i].stopped {
						told = append(told, when.Sub(began))
					}
					if at == 0 {
						require.Empty(t, told)
						continue
					}
					require.Equal(t, []time.Duration{at}, told, "rank %d", i)
				}
			})
		})
	}
}
