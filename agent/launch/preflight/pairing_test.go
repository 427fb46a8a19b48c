package preflight

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// ports returns the ports of n workers, of which some do not listen.
func ports(n int, silent ...int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1000 + i
	}
	for _, i := range silent {
		list[i] = 0
	}
	return list
}

// all returns the set of the first n numbers.
func all(n int) map[int]bool {
	set := map[int]bool{}
	for i := range n {
		set[i] = true
	}
	return set
}

// apart returns n nodes: each worker has its own.
func apart(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("node%d", i)
	}
	return list
}

// counts returns how often each unordered pair is in a plan, and in how many pairs each worker is.
func counts(plan map[int][]int) (pairs map[[2]int]int, workers map[int]int) {
	pairs, workers = map[[2]int]int{}, map[int]int{}
	for from, list := range plan {
		for _, to := range list {
			pairs[[2]int{min(from, to), max(from, to)}]++
			workers[from]++
			workers[to]++
		}
	}
	return pairs, workers
}

// TestEveryPairOnce checks that each pair of workers on up to 64 nodes connects once, without the workers
// that do not listen.
func TestEveryPairOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 16, 64} {
		seed := rand.Uint64()
		pairs, _ := counts(pairing(ports(n), apart(n), all(n), seed, allNodes))
		require.Len(t, pairs, n*(n-1)/2, "%d workers, seed %d", n, seed)
		for p, times := range pairs {
			require.Equal(t, 1, times, "%v, seed %d", p, seed)
		}
	}
	_, workers := counts(pairing(ports(5, 1, 3), apart(5), all(5), 7, allNodes))
	require.Equal(t, map[int]int{0: 2, 2: 2, 4: 2}, workers)
}

// TestEveryPairOfNodes checks that many workers on few nodes connect each two nodes, and that each
// worker takes part in four pairs. Workers whose node is unknown count as apart.
func TestEveryPairOfNodes(t *testing.T) {
	const n, few = 60, 5
	seed := rand.Uint64()
	nodes := make([]string, n)
	for i := range nodes {
		nodes[i] = apart(few)[i%few]
	}
	pairs, workers := counts(pairing(ports(n), nodes, all(n), seed, allNodes))
	met := map[[2]int]bool{}
	for p, times := range pairs {
		require.Equal(t, 1, times, "%v, seed %d", p, seed)
		met[between(p[0]%few, p[1]%few)] = true
	}
	for a := range few {
		for b := range a {
			require.True(t, met[between(a, b)], "nodes %d and %d, seed %d", a, b, seed)
		}
		require.GreaterOrEqual(t, workers[a], samples, "worker %d, seed %d", a, seed)
	}
	require.LessOrEqual(t, len(pairs), n*samples/2+few*(few-1)/2, "seed %d", seed)

	pairs, _ = counts(pairing(ports(n), make([]string, n), all(n), seed, allNodes))
	require.Len(t, pairs, n*(n-1)/2, "seed %d", seed)

	pairs, _ = counts(pairing(ports(n), nodes, map[int]bool{7: true}, seed, allNodes))
	met = map[[2]int]bool{}
	for p := range pairs {
		require.Contains(t, p, 7, "seed %d", seed)
		met[between(p[0]%few, p[1]%few)] = true
	}
	for a := range few {
		require.True(t, a == 7%few || met[between(a, 7%few)], "node %d, seed %d", a, seed)
	}
}

// TestSample checks that each of many workers takes part in four pairs, and that the seed chooses.
func TestSample(t *testing.T) {
	seed := rand.Uint64()
	pairs, workers := counts(pairing(ports(1000), apart(1000), all(1000), seed, allNodes))
	require.Len(t, pairs, 2000, "seed %d", seed)
	require.Len(t, workers, 1000)
	for w, n := range workers {
		require.Equal(t, 4, n, "worker %d, seed %d", w, seed)
	}
	again, _ := counts(pairing(ports(1000), apart(1000), all(1000), seed, allNodes))
	require.Equal(t, pairs, again)
	other, _ := counts(pairing(ports(1000), apart(1000), all(1000), seed+1, allNodes))
	require.NotEqual(t, pairs, other)
}

// TestNewcomersAlone checks that a restart measures only pairs with a new worker.
func TestNewcomersAlone(t *testing.T) {
	pairs, _ := counts(pairing(ports(6), apart(6), map[int]bool{2: true}, 1, allNodes))
	require.Len(t, pairs, 5)
	for p := range pairs {
		require.Contains(t, p, 2)
	}
	for _, round := range rounds(ports(6), map[int]bool{2: true}, 1) {
		pairs, _ := counts(round)
		for p := range pairs {
			require.Contains(t, p, 2)
		}
	}
}

// TestRounds checks that each worker takes part in at most one transfer at a time, and in several
// altogether.
func TestRounds(t *testing.T) {
	for _, n := range []int{4, 5, 60, 61} {
		seed := rand.Uint64()
		list := rounds(ports(n), all(n), seed)
		require.Len(t, list, transfers)
		total := map[int]int{}
		for _, round := range list {
			_, workers := counts(round)
			for w, times := range workers {
				require.Equal(t, 1, times, "worker %d of %d, seed %d", w, n, seed)
				total[w]++
			}
		}
		require.Len(t, total, n)
		for w, times := range total {
			require.GreaterOrEqual(t, times, transfers-2, "worker %d of %d, seed %d", w, n, seed)
		}
	}
	require.Empty(t, rounds(ports(3), all(3), 1))
}

// TestSuspects checks that workers that look slow are measured one after the other, in both directions, each time with
// another worker that does not look slow.
func TestSuspects(t *testing.T) {
	suspect := map[int]bool{1: true, 6: true}
	seed := rand.Uint64()
	sends, receives := map[int][]int{}, map[int][]int{}
	for _, plan := range suspects(ports(8), suspect, seed) {
		require.Len(t, plan, 1, "seed %d", seed)
		for from, to := range plan {
			require.Len(t, to, 1)
			require.NotEqual(t, suspect[from], suspect[to[0]], "seed %d: %d to %d", seed, from, to[0])
			sends[from], receives[to[0]] = append(sends[from], to[0]), append(receives[to[0]], from)
		}
	}
	for i := range suspect {
		peers := append(sends[i], receives[i]...)
		require.Len(t, sends[i], 3, "seed %d", seed)
		require.Len(t, receives[i], 3, "seed %d", seed)
		slices.Sort(peers)
		require.Len(t, slices.Compact(peers), 6, "seed %d", seed)
	}
	require.Empty(t, suspects(ports(4), all(4), 1), "nobody is left to compare with")
	many := suspects(ports(60), all(20), seed)
	require.Len(t, many, sureTransfers*mostTurns)
	require.Len(t, many[0], 3, "20 workers in 8 turns")
}
