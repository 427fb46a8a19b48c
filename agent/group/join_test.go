package group

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// joins returns one more process, whose process behaves like a.
func joins(a act) (Process, *stage) {
	s := newStage(a)
	return Process{Label: "rank 9", Worker: "w-9", Opener: s}, s
}

func TestAdd(t *testing.T) {
	for name, tc := range map[string]struct {
		any   bool
		acts  []act
		joins act
		after time.Duration // when the process joins
		taken bool
		code  int
		took  time.Duration
	}{
		"the group waits for it":      {acts: []act{{after: 3 * time.Second}}, joins: act{after: 5 * time.Second}, after: time.Second, taken: true, took: 6 * time.Second},
		"its failure counts":          {acts: []act{{}}, joins: act{after: time.Second, code: 4}, after: time.Second, taken: true, code: 4, took: 2*time.Second + settleTime},
		"any: lost, others still run": {any: true, acts: []act{{after: 5 * time.Second}}, joins: act{after: time.Second, lost: errGone}, after: time.Second, taken: true, took: 5 * time.Second},
		"any: last one running":       {any: true, acts: []act{{after: 2 * time.Second, code: 1}}, joins: act{after: 5 * time.Second}, after: time.Second, taken: true, took: 6 * time.Second},
		"another has failed before":   {acts: []act{{after: time.Second, code: 3}, {}}, joins: act{}, after: time.Second + settleTime/2, code: 3, took: time.Second + settleTime},
		"any: another has succeeded":  {any: true, acts: []act{{after: time.Second}, {after: 4 * time.Second}}, joins: act{}, after: 2 * time.Second, took: 4 * time.Second},
		"the group has ended before":  {acts: []act{{after: time.Second}}, joins: act{}, after: 2 * time.Second, took: time.Second},
		"stopped with the others":     {acts: []act{{after: 3 * time.Second, code: 5}}, joins: act{}, after: time.Second, taken: true, code: 5, took: 3*time.Second + settleTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, _ := cast(nil, tc.acts...)
				cfg.Any = tc.any
				ended := map[string]bool{}
				var g *Group
				cfg.OnEnd = func(e End, _ bool) { ended[g.Label(e.Process)+" on "+g.Worker(e.Process)] = true }
				g = New(cfg)
				p, s := joins(tc.joins)
				began := time.Now()
				taken := make(chan bool, 1)
				go func() {
					time.Sleep(tc.after)
					taken <- g.Add(p)
				}()
				result := g.Run(t.Context())
				require.Equal(t, tc.took, time.Since(began))
				require.Equal(t, tc.code, result.Code)
				require.Equal(t, tc.taken, <-taken)
				require.Equal(t, tc.taken, ended["rank 9 on w-9"])
				require.Equal(t, tc.taken, !s.end.IsZero(), "a member that was added has run and ended")
			})
		})
	}
}

// TestAddAfterLeave checks that no process is added while the others end because a worker departs: nobody
// would tell it to end, and the group would wait for it.
func TestAddAfterLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := cast(nil, act{after: 5 * time.Second, mute: true, reason: wire.ReasonPreempted}, act{term: 2 * time.Second})
		cfg.Any = true
		g := New(cfg)
		p, s := joins(act{after: time.Minute})
		began := time.Now()
		done := make(chan Result, 1)
		go func() { done <- g.Run(t.Context()) }()
		time.Sleep(time.Second)
		g.Leave("w-0", 20*time.Second)
		require.False(t, g.Add(p))
		require.True(t, (<-done).Stopped)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.True(t, s.opened.IsZero())
	})
}
