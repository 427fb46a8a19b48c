//go:build !race

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
// other rank is ever named. The test starts no goroutine, so it does not run under the race detector.
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
