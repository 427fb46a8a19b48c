package straggler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Unix(1_700_000_000, 0)

// job simulates ranks without waiting. step returns the time of the next step of a rank, given the
// number of seconds since the start.
type job struct {
	ranks int
	step  func(rank int, at float64) float64
}

// play runs the job for some seconds, and returns the changes with their times in seconds.
func (j job) play(slowFor time.Duration, seconds float64) (changes []Change, at []float64) {
	m := New(slowFor, start)
	every := m.Every().Seconds()
	type state struct{ now, from, sum, n float64 }
	ranks := make([]state, j.ranks)
	for second := 1.0; second <= seconds; second++ {
		for rank := range ranks {
			for s := &ranks[rank]; s.now < second; {
				took := j.step(rank, s.now)
				s.now, s.sum, s.n = s.now+took, s.sum+took, s.n+1
				if s.now-s.from >= every { // as agent/progress does
					m.Add(rank, s.sum/s.n)
					s.from, s.sum, s.n = s.now, 0, 0
				}
			}
		}
		for _, c := range m.Look(start.Add(time.Duration(second * float64(time.Second)))) {
			changes, at = append(changes, c), append(at, second)
		}
	}
	return changes, at
}

// TestWhenAStragglerIsNamed checks the time until a rank that becomes slow is named, once, and until
// its recovery is.
func TestWhenAStragglerIsNamed(t *testing.T) {
	for name, row := range map[string]struct {
		slowFor time.Duration
		step    float64 // in seconds
	}{
		"short steps":      {2 * time.Minute, 0.05},
		"a step of 10 s":   {2 * time.Minute, 10},
		"a fast judgement": {4 * time.Second, 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			changes, at := job{8, func(rank int, at float64) float64 {
				if rank == 5 && at >= 100 && at < 1000 {
					return row.step * 1.4
				}
				return row.step
			}}.play(row.slowFor, 3000)
			require.Len(t, changes, 2)
			require.Equal(t, []int{5, 5}, []int{changes[0].Rank, changes[1].Rank})
			require.False(t, changes[0].Recovered)
			require.InDelta(t, 0.4, changes[0].Slower(), 0.02)
			require.True(t, changes[1].Recovered)
			least, most := 100+row.slowFor.Seconds()/2, 100+2*row.slowFor.Seconds()+3*enough*row.step*1.4
			require.Less(t, least, at[0])
			require.LessOrEqual(t, at[0], most)
			require.LessOrEqual(t, at[1], most+900)
		})
	}
}

// feed adds n step times to each rank, and looks at the end of the window.
func feed(m *Meter, window int, times ...float64) []Change {
	for range enough {
		for rank, s := range times {
			if s > 0 {
				m.Add(rank, s)
			}
		}
	}
	return m.Look(start.Add(time.Duration(window) * time.Minute))
}

// TestWindows checks that a rank is named only after two windows in a row, and what makes a window.
func TestWindows(t *testing.T) {
	m := New(2*time.Minute, start)
	require.Empty(t, feed(m, 0, 1, 1, 1, 2), "the window is not over")
	require.Empty(t, feed(m, 1, 1, 1, 1, 2))
	require.Empty(t, feed(m, 2, 1, 1, 1, 1), "a window that is fine")
	require.Empty(t, feed(m, 3, 1, 1, 1, 2))
	got := feed(m, 4, 1, 1, 1, 2)
	require.Equal(t, []Change{{Rank: 3, Time: 2, Median: 1, Ranks: 4}}, got)
	require.Empty(t, feed(m, 5, 1, 1, 1, 2), "it is named once")
	require.True(t, m.Steps()[3].Straggler)
	require.Empty(t, feed(m, 6, 1, 1, 1, 1.12), "not yet fine")
	require.Empty(t, feed(m, 7, 1, 1, 1, 1.09))
	require.True(t, feed(m, 8, 1, 1, 1, 1.09)[0].Recovered)
	require.False(t, m.Steps()[3].Straggler)
	require.Empty(t, feed(m, 9, 1, 1, 1, 2))
	m.Reset(start)
	require.Empty(t, feed(m, 10, 1, 1, 1, 2), "a restart forgets what was")
}

// TestRanksThatDoNotStep checks that a rank without steps delays nothing, unless there are many, and
// that a rank that has ended does not count.
func TestRanksThatDoNotStep(t *testing.T) {
	m := New(2*time.Minute, start)
	for rank := range 8 {
		m.Add(rank, 1)
	}
	window := 0
	play := func(windows int) (changes []Change) {
		for range windows {
			window++
			changes = append(changes, feed(m, window, 1, 1, 1, 0, 0, 0, 1, 2)...)
		}
		return changes
	}
	require.Empty(t, play(10), "three of eight do not step")
	m.Ended(3)
	m.Ended(4)
	require.Len(t, play(50), 1)
	require.NotContains(t, m.Steps(), 3)
}

// TestOwnNoise checks that a rank is not slow if many of its own steps are fast.
func TestOwnNoise(t *testing.T) {
	m := New(2*time.Minute, start)
	for window := 1; window <= 4; window++ {
		for i := range enough {
			for rank := range 7 {
				m.Add(rank, 1)
			}
			m.Add(7, []float64{0.5, 2, 2}[i%3])
		}
		require.Empty(t, m.Look(start.Add(time.Duration(window)*time.Minute)))
	}
	require.InDelta(t, 2, m.Steps()[7].Seconds, 1e-6)
}

// TestMemoryIsBounded checks that ranks that do not exist cannot fill the memory.
func TestMemoryIsBounded(t *testing.T) {
	m := New(2*time.Minute, start)
	m.Add(-1, 1)
	for rank := range mostRanks + 10 {
		m.Add(rank, 1)
	}
	require.Len(t, m.Steps(), mostRanks)
}
