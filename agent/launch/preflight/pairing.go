package preflight

import (
	"errors"
	"math/rand/v2"
	"slices"
)

var errNoAnswer = errors.New("the worker did not answer in time")

const (
	// allPairs is up to how many workers every pair connects. On one machine, all share its processors.
	allPairs     = 64
	allPairsHere = 16
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

// pairing decides which worker connects to which others: every pair once, or, beyond most
// workers, a sample with each worker in at least samples pairs. Pairs without a new worker are left
// out. The direction of a pair is random: what blocks one direction only is found by one pair or
// another.
func pairing(ports []int, fresh map[int]bool, seed uint64, most int) map[int][]int {
	rng := rand.New(rand.NewPCG(seed, 1))
	all := listening(ports, rng)
	plan := map[int][]int{}
	add := func(a, b int) {
		switch {
		case !fresh[a] && !fresh[b]:
			return
		case rng.IntN(2) == 0:
			a, b = b, a
		}
		plan[a] = append(plan[a], b)
	}
	if len(all) <= most {
		for i, a := range all {
			for _, b := range all[i+1:] {
				add(a, b)
			}
		}
		return plan
	}
	for i, a := range all { // in a circle, each has two neighbors at each distance
		for distance := 1; distance <= samples/2; distance++ {
			add(a, all[(i+distance)%len(all)])
		}
	}
	return plan
}

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
