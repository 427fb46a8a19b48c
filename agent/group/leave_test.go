package group

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
)

// TestLeave checks that when a worker departs, the processes on other workers are told to stop
// immediately and once. The worker's own processes are told after these have ended. The end of the
// departing worker is the cause.
func TestLeave(t *testing.T) {
	for name, tc := range map[string]struct {
		parts   []framework.Part
		first   act // of the departing worker, after 1 s
		others  []act
		own     time.Duration // when the departing process is told to stop; 0 means never, because it has ended
		asked   []time.Duration
		code    int
		stopped bool
		took    time.Duration
	}{
		"the departing process waits for the others": {first: act{after: 9 * time.Second, reason: wire.ReasonPreempted}, others: []act{{term: 4 * time.Second}, {term: 7 * time.Second}},
			own: 8 * time.Second, asked: []time.Duration{time.Second, time.Second}, code: names.ExitHopeless, stopped: true, took: 9 * time.Second},
		"the departing process ends before the others": {first: act{after: 2 * time.Second, reason: wire.ReasonPreempted}, others: []act{{term: 7 * time.Second}},
			asked: []time.Duration{time.Second}, code: names.ExitHopeless, stopped: true, took: 8 * time.Second},
		"another process does not end": {first: act{after: 2 * time.Second, reason: wire.ReasonPreempted}, others: []act{{stubborn: true}},
			asked: []time.Duration{time.Second}, code: names.ExitHopeless, stopped: true, took: 21 * time.Second},
		"a server ends after the departing process": {parts: []framework.Part{works, works, serves}, first: act{after: 6 * time.Second, reason: wire.ReasonPreempted},
			others: []act{{term: 3 * time.Second}, {term: time.Second}}, own: 4 * time.Second,
			asked: []time.Duration{time.Second, 6*time.Second + settleTime}, code: names.ExitHopeless, stopped: true, took: 7*time.Second + settleTime},
		"the deciding process has not finished": {parts: []framework.Part{works, decides}, first: act{after: 5 * time.Second, reason: wire.ReasonPreempted},
			others: []act{{term: 2 * time.Second}}, own: 3 * time.Second, asked: []time.Duration{time.Second}, code: names.ExitHopeless, stopped: true, took: 5 * time.Second},
		"the departing process has just succeeded": {first: act{after: 1500 * time.Millisecond}, others: []act{{term: 3 * time.Second}},
			asked: []time.Duration{time.Second}, stopped: true, took: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.first.mute = true // the worker stops its process itself
				cfg, stages := cast(tc.parts, append([]act{tc.first}, tc.others...)...)
				g := New(cfg)
				began := time.Now()
				done := make(chan Result, 1)
				go func() { done <- g.Run(t.Context()) }()
				time.Sleep(time.Second)
				g.Leave("w-0", 20*time.Second)
				g.Leave("w-1", 20*time.Second) // only the first call has an effect
				r := <-done
				require.Equal(t, tc.took, time.Since(began))
				require.Equal(t, tc.code, r.Code)
				require.Equal(t, tc.stopped, r.Stopped, "the result must not be a success")
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

// TestLastProcessesStopLast checks that processes that serve all others end last, within the rest
// of the grace, however the group is stopped.
func TestLastProcessesStopLast(t *testing.T) {
	for name, tc := range map[string]struct {
		acts []act
		stop func(g *Group)
		told [][]time.Duration // by rank: when it was told to stop, and its grace
		took time.Duration
	}{
		"told to stop": {[]act{{term: time.Second}, {term: 3 * time.Second}, {term: 5 * time.Second}}, func(g *Group) { g.Signal(syscall.SIGTERM) },
			[][]time.Duration{{6 * time.Second, 5 * time.Second}, {time.Second, 10 * time.Second}, {time.Second, 10 * time.Second}}, 7 * time.Second},
		"another worker departs": {[]act{{term: time.Second}, {after: 8 * time.Second, mute: true, reason: wire.ReasonPreempted}, {term: 5 * time.Second}},
			func(g *Group) { g.Leave("w-1", 10*time.Second) },
			[][]time.Duration{{8 * time.Second, 3 * time.Second}, {6 * time.Second, 5 * time.Second}, {time.Second, 10 * time.Second}}, 9 * time.Second},
		"the worker of the last process departs": {[]act{{after: 8 * time.Second, mute: true, reason: wire.ReasonPreempted}, {term: time.Second}, {term: 5 * time.Second}},
			func(g *Group) { g.Leave("w-0", 10*time.Second) },
			[][]time.Duration{{6 * time.Second, 5 * time.Second}, {time.Second, 10 * time.Second}, {time.Second, 10 * time.Second}}, 8 * time.Second},
		"all others have ended": {[]act{{term: time.Second}, {after: time.Millisecond}, {after: time.Millisecond}}, func(g *Group) { g.Signal(syscall.SIGTERM) },
			[][]time.Duration{{time.Second, 10 * time.Second}, nil, nil}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, stages := cast(nil, tc.acts...)
				var asked []string
				cfg.Last, cfg.Ask = "w-0", func(worker string, _ time.Duration) { asked = append(asked, worker) }
				g := New(cfg)
				began := time.Now()
				done := make(chan Result, 1)
				go func() { done <- g.Run(t.Context()) }()
				time.Sleep(time.Second)
				tc.stop(g)
				r := <-done
				require.True(t, r.Stopped)
				require.Equal(t, tc.took, time.Since(began))
				if name != "the worker of the last process departs" {
					require.Equal(t, []string{"w-0"}, asked)
				}
				for i, want := range tc.told {
					var got []time.Duration
					for k, at := range stages[i].stopped {
						got = append(got, at.Sub(began), stages[i].graces[k])
					}
					require.Equal(t, want, got, "rank %d", i)
				}
			})
		})
	}
}
