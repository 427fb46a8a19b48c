package progress

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFar checks how far a job is by its lines, which come one every 2 seconds.
func TestFar(t *testing.T) {
	for _, c := range []struct {
		expect string
		lines  []string
		later  time.Duration // after the last line
		want   string
	}{
		{`step (\d+)/(?P<total>\d+)`, []string{"step 100/500", "step 150/500", "step 200/500"}, 0, "200/500 left 12s"},
		{`step (\d+)/(?P<total>\d+)`, []string{"step 100/500", "step 150/500", "step 200/500"}, 5 * time.Second, "200/500 left 7s"},
		{`step (\d+)/(?P<total>\d+)`, []string{"step 100/500", "step 150/500", "step 200/500"}, time.Hour, "200/500 left 1s"},
		{`step (\d+)/(?P<total>\d+)`, []string{"step 100/500"}, 0, "100/500 left 0s"},
		{`step (\d+)/(?P<total>\d+)`, []string{"step 100/500", "step 500/500"}, 0, "500/500 left 0s"},
		{`step (\d+)/(?P<total>\d+)`, []string{"step 100/500", "step 99/500", "step 101/600"}, 0, "101/600 left 33m16s"},
		{`(?P<total>\d+) steps, (\d+) done`, []string{"90 steps, 30 done", "90 steps, 60 done"}, 0, "60/90 left 2s"},
		{`step (\d+)(/(?P<total>\d+))?`, nil, 0, "unknown"},
		{`step (\d+)`, []string{"step 7", "step 8"}, 0, "8/0 left 0s"},
		{`step (\d+)`, []string{"epoch 7"}, 0, "unknown"},
		{`epoch (\d+) step (\d+)`, []string{"epoch 1 step 900", "epoch 2 step 1"}, 0, "unknown"},
		{`tokens (\S+) of (?P<total>\S+)`, []string{"tokens 1e6 of many", "tokens 2e6 of many"}, 0, "2e+06/0 left 0s"},
	} {
		set, err := Compile([]Rule{{Expect: c.expect, Within: time.Minute}})
		require.NoError(t, err)
		now := time.Unix(1000, 0)
		w := set.Begin(now, 0)
		for i, line := range c.lines {
			if i > 0 {
				now = now.Add(2 * time.Second)
			}
			w.Feed(0, []byte(line), now)
		}
		got := "unknown"
		if f, ok := w.Far(now.Add(c.later)); ok {
			got = fmt.Sprintf("%g/%g left %s", f.Step, f.Total, f.Left)
		}
		require.Equal(t, c.want, got, "%s %q", c.expect, c.lines)
	}
}

// TestTotalMayChange checks that only the step must grow.
func TestTotalMayChange(t *testing.T) {
	set, err := Compile([]Rule{{Expect: `(?P<total>\d+) (\d+)`, Within: time.Second}})
	require.NoError(t, err)
	w := set.Begin(time.Unix(0, 0), 0)
	for second, line := range []string{"90 1", "80 2", "70 3", "60 4"} {
		now := time.Unix(int64(second), 0).Add(500 * time.Millisecond)
		w.Feed(0, []byte(line), now)
		require.Empty(t, w.Look(now), line)
	}
	require.Len(t, w.Look(time.Unix(9, 0)), 1)
}

// TestFarOfAnotherAttempt checks that a restart forgets the pace of the last attempt.
func TestFarOfAnotherAttempt(t *testing.T) {
	set, err := Compile([]Rule{{Expect: `step (\d+)/(?P<total>\d+)`, Within: time.Minute}})
	require.NoError(t, err)
	w := set.Begin(time.Unix(0, 0), 0)
	w.Feed(0, []byte("step 9/10"), time.Unix(1, 0))
	w.Reset(time.Unix(2, 0))
	_, ok := w.Far(time.Unix(2, 0))
	require.False(t, ok)
	w.Feed(0, []byte("step 5/10"), time.Unix(3, 0))
	f, ok := w.Far(time.Unix(3, 0))
	require.True(t, ok)
	require.Equal(t, Far{Step: 5, Total: 10}, f)
}
