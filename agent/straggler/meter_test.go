package straggler

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
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

// noises are the shapes of the noise of one step of 1 s, by name.
func noises(r *rand.Rand) map[string]func(rank int, at float64) float64 {
	return map[string]func(rank int, at float64) float64{
		"uniform": func(int, float64) float64 { return 0.9 + 0.2*r.Float64() },
		"normal":  func(int, float64) float64 { return max(0.2, 1+0.1*r.NormFloat64()) },
		"heavy tail": func(int, float64) float64 { // lognormal, and one step of 50 takes up to ten times as long
			s := math.Exp(0.25 * r.NormFloat64())
			if r.IntN(50) == 0 {
				s *= 1 + 9*r.Float64()
			}
			return s
		},
		"two groups": func(rank int, _ float64) float64 { // every other rank is on a slower node
			return (1 + 0.4*float64(rank%2)) * (0.95 + 0.1*r.Float64())
		},
		"pauses": func(rank int, at float64) float64 { // a rank stops for 20 s now and then, or is slow for 50 s
			s := 0.95 + 0.1*r.Float64()
			if r.IntN(300) == 0 {
				s += 20
			}
			if int(at/50)%20 == rank {
				s *= 1.5
			}
			return s
		},
		"waves": func(rank int, at float64) float64 { // all become slower and faster, with a delay by rank
			return (1 + 0.5*math.Sin((at+float64(rank))/30)) * (0.95 + 0.1*r.Float64())
		},
		"nearly equal": func(rank int, _ float64) float64 { return 1 + 0.002*float64(rank) },
	}
}

// seed returns the seed of a simulation, which the test prints.
func seed(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("MUSTER_TEST_SEED"), 10, 64)
	if err != nil {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("MUSTER_TEST_SEED=%d", n)
	return n
}

// TestSimulatedJobs plays 1,000 jobs of 20 ranks for 10 minutes each, with several shapes of noise.
// About half of them have a rank that is 30 % slower. It is found where the noise allows it, and no
// other rank is ever named.
func TestSimulatedJobs(t *testing.T) {
	const jobs, ranks = 1000, 20
	r := rand.New(rand.NewPCG(seed(t), 1))
	shapes := noises(r)
	names := []string{"uniform", "normal", "heavy tail", "two groups", "pauses", "waves", "nearly equal"}
	found, with, named := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range jobs {
		name, slow := names[i%len(names)], -1
		if i/len(names)%2 == 0 && name != "two groups" {
			slow = r.IntN(ranks)
			with[name]++
		}
		changes, _ := job{ranks, func(rank int, at float64) float64 {
			s := 2 * shapes[name](rank, at)
			if rank == slow {
				s *= 1.3
			}
			return s
		}}.play(Usual, 600)
		for _, c := range changes {
			switch {
			case c.Recovered:
			case c.Rank == slow:
				found[name]++
				require.GreaterOrEqual(t, c.Ranks, ranks*3/4)
			default:
				named[name]++
			}
		}
	}
	t.Logf("with a straggler: %v; it was found: %v; other ranks that were named: %v", with, found, named)
	require.Empty(t, named)
	for _, name := range []string{"uniform", "normal", "pauses", "nearly equal"} {
		require.Equal(t, with[name], found[name], name)
	}
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
