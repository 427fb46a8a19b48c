package usage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/straggler"
)

// Worker is what one worker uses, and its ranks.
type Worker struct {
	Worker string `json:"worker"`
	Node   string `json:"node,omitempty"`
	Ranks  []Rank `json:"ranks,omitempty"` // by number
	CPU    *int64 `json:"cpu_millis,omitempty"`
	Memory *int64 `json:"memory_bytes,omitempty"`
	GPU    *int64 `json:"gpu_percent,omitempty"` // mean utilization of its GPUs
}

// Rank is the step time of a rank.
type Rank struct {
	Rank      int     `json:"rank"`
	Step      float64 `json:"step_seconds,omitempty"` // 0: unknown
	Straggler bool    `json:"straggler,omitempty"`
	// Median and Ranks are the median with which a straggler was compared, and the number of ranks.
	Median float64 `json:"median_step_seconds,omitempty"`
	Ranks  int     `json:"ranks,omitempty"`
}

// Step returns the step time of the slowest rank of the worker; 0 if none is known.
func (w Worker) Step() (slowest float64) {
	for _, r := range w.Ranks {
		slowest = max(slowest, r.Step)
	}
	return slowest
}

// Stragglers returns the numbers of the ranks that are stragglers.
func (w Worker) Stragglers() (numbers []int) {
	for _, r := range w.Ranks {
		if r.Straggler {
			numbers = append(numbers, r.Rank)
		}
	}
	return numbers
}

// SetSteps adds ranks, and step times that are known of them.
func (w *Worker) SetSteps(numbers []int, steps map[int]straggler.Step) {
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		s := steps[n]
		w.Ranks = append(w.Ranks, Rank{Rank: n, Step: s.Seconds, Straggler: s.Straggler, Median: s.Median, Ranks: s.Ranks})
	}
}

// Merge returns workers with what is known more about those of the same name. A value that a worker
// has already is kept. Workers that only more has are added.
func Merge(workers, more []Worker) []Worker {
	all, at := slices.Clone(workers), make(map[string]int, len(workers))
	for i, w := range workers {
		at[w.Worker] = i
	}
	for _, m := range more {
		i, known := at[m.Worker]
		if !known {
			at[m.Worker] = len(all)
			all = append(all, m)
			continue
		}
		w := &all[i]
		w.Node, w.CPU, w.Memory, w.GPU = cmp.Or(w.Node, m.Node), cmp.Or(w.CPU, m.CPU), cmp.Or(w.Memory, m.Memory), cmp.Or(w.GPU, m.GPU)
		if len(m.Ranks) > 0 {
			w.Ranks = m.Ranks
		}
	}
	return all
}

// Sort puts the workers with the slowest ranks first, and those without step times last.
func Sort(all []Worker) {
	slices.SortStableFunc(all, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(b.Step(), a.Step()), cmp.Compare(len(a.Worker), len(b.Worker)), strings.Compare(a.Worker, b.Worker))
	})
}

// Median returns the median step time of all ranks with one, and their number.
func Median(all []Worker) (seconds float64, ranks int) {
	var times []float64
	for _, w := range all {
		for _, r := range w.Ranks {
			if r.Step > 0 {
				times = append(times, r.Step)
			}
		}
	}
	seconds, _ = straggler.Judge(times)
	return seconds, len(times)
}
