package preflight

import (
	"errors"
	"math/rand/v2"
	"slices"
)

var errNoAnswer = errors.New("the worker did not answer in time")

const (
	// allWorkers is up to how many workers every pair connects.
	allWorkers = 16
	// allNodes is up to how many nodes every pair of nodes connects. On one machine, all workers
	// share its processors, and there are no nodes.
	allNodes     = 64
	allNodesHere = 0
	// samples is in how many pairs each worker takes part beyond that.
	samples = 4
	// transfers is how many transfers each worker takes part in: it sends once, and receives once.
	// sureTransfers is the same for a worker that looks slow, or whose peers did.
	transfers     = 2
	sureTransfers = 6
	// mostTurns bounds the number of turns of workers that look slow.
	mostTurns = 8
)

// listening returns the indices of workers that listen, in a random order.
func listening(ports []int, rng *rand.Rand) []int {
	var all []int
	for i, port := range ports {
		if port != 0 {
			all = append(all, i)
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// pairing decides which worker connects to which others: every pair once. Beyond allWorkers workers
// it is a sample with each worker in at least samples pairs. If there are no more than most nodes,
// every two of them have a pair too. Workers of one node share its network, so 60 workers on two
// nodes need no 1,770 connections. An unknown node counts as one of its own. Pairs without a new
// worker are left out. The direction of a pair is random: what blocks one direction only is found
// by one pair or another.
func pairing(ports []int, nodes []string, fresh map[int]bool, seed uint64, most int) map[int][]int {
	rng := rand.New(rand.NewPCG(seed, 1))
	all := listening(ports, rng)
	p := pairs{fresh: fresh, rng: rng, plan: map[int][]int{}}
	if len(all) <= allWorkers {
		for i, a := range all {
			for _, b := range all[i+1:] {
				p.add(a, b)
			}
		}
		return p.plan
	}
	at, known := places(all, nodes)
	connected := map[[2]int]bool{}
	for i, a := range all { // in a circle, each has two neighbors at each distance
		for distance := 1; distance <= samples/2; distance++ {
			b := all[(i+distance)%len(all)]
			if p.add(a, b) {
				connected[between(at[a], at[b])] = true
			}
		}
	}
	if known > most {
		return p.plan
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if both := between(at[a], at[b]); at[a] != at[b] && !connected[both] && p.add(a, b) {
				connected[both] = true
			}
		}
	}
	return p.plan
}

// pairs is a plan that grows.
type pairs struct {
	fresh map[int]bool
	rng   *rand.Rand
	plan  map[int][]int
}

// add lets two workers connect, if at least one of them is new.
func (p *pairs) add(a, b int) bool {
	if !p.fresh[a] && !p.fresh[b] {
		return false
	}
	if p.rng.IntN(2) == 0 {
		a, b = b, a
	}
	p.plan[a] = append(p.plan[a], b)
	return true
}

// places numbers the nodes of workers, and returns the number of each worker's node and how many
// nodes there are.
func places(workers []int, nodes []string) (at map[int]int, n int) {
	at, numbers := map[int]int{}, map[string]int{}
	for _, w := range workers {
		number, ok := numbers[nodes[w]]
		if !ok {
			number, n = n, n+1
			if nodes[w] != "" {
				numbers[nodes[w]] = number
			}
		}
		at[w] = number
	}
	return at, n
}

func between(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// rounds decides who sends to whom. In one round each worker takes part in one transfer, so that
// transfers do not share a worker's link. Two workers alone have nothing to compare with.
func rounds(ports []int, fresh map[int]bool, seed uint64) []map[int][]int {
	rng := rand.New(rand.NewPCG(seed, 2))
	all := listening(ports, rng)
	if len(all) < 4 {
		return nil
	}
	var list []map[int][]int
	for round := range transfers {
		plan := map[int][]int{}
		if round%2 == 0 {
			all = listening(ports, rng)
		} else {
			all = append(slices.Clone(all[1:]), all[0]) // the same circle, and the other neighbor
		}
		for i := 0; i+1 < len(all); i += 2 {
			if fresh[all[i]] || fresh[all[i+1]] {
				plan[all[i]] = []int{all[i+1]}
			}
		}
		list = append(list, plan)
	}
	return list
}

// suspects decides with whom workers that look slow are measured again: each with others that do not
// look slow, in both directions by turns. Where pods share processors, transfers at the same time
// slow each other. So workers take turns, and only beyond mostTurns several of them share one. If
// most workers look slow, some have no peer.
func suspects(ports []int, suspect map[int]bool, seed uint64) []map[int][]int {
	rng := rand.New(rand.NewPCG(seed, 3))
	var slow, peers []int
	for _, i := range listening(ports, rng) {
		if suspect[i] {
			slow = append(slow, i)
		} else {
			peers = append(peers, i)
		}
	}
	slow = slow[:min(len(slow), len(peers))]
	var list []map[int][]int
	for transfer := range sureTransfers {
		for turn := range min(len(slow), mostTurns) {
			plan := map[int][]int{}
			for n := turn; n < len(slow); n += mostTurns {
				from, to := slow[n], peers[(n+transfer)%len(peers)]
				if transfer%2 == 1 {
					from, to = to, from
				}
				plan[from] = []int{to}
			}
			list = append(list, plan)
		}
	}
	return list
}
