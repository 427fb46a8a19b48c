package straggler

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Place is where a rank runs.
type Place struct{ Worker, Node string }

// String returns "worker-3 (node gpu-12)", or "" if the place is unknown.
func (p Place) String() string {
	if p.Node == "" {
		return p.Worker
	}
	return p.Worker + " (node " + p.Node + ")"
}

// Found is what has changed for the ranks of one worker.
type Found struct {
	Place
	Changes []Change // of the same kind, by rank
}

// Group combines changes by worker and kind, the slowest first. at returns where a rank runs; ranks
// of unknown places stay apart.
func Group(changes []Change, at func(rank int) Place) (all []Found) {
	for _, c := range changes {
		place := at(c.Rank)
		i := slices.IndexFunc(all, func(f Found) bool {
			return place.Worker != "" && f.Place == place && f.Changes[0].Recovered == c.Recovered
		})
		if i < 0 {
			i = len(all)
			all = append(all, Found{Place: place})
		}
		all[i].Changes = append(all[i].Changes, c)
	}
	slices.SortStableFunc(all, func(a, b Found) int { return cmp.Compare(b.slowest().Slower(), a.slowest().Slower()) })
	return all
}

// slowest returns the change with the longest step time.
func (f Found) slowest() Change {
	return slices.MaxFunc(f.Changes, func(a, b Change) int { return cmp.Compare(a.Time, b.Time) })
}

// Recovered reports whether the ranks are stragglers no more.
func (f Found) Recovered() bool { return f.Changes[0].Recovered }

// Subject names the ranks and their place: "rank 7 on worker-3 (node gpu-12)".
func (f Found) Subject() string {
	numbers := make([]int, len(f.Changes))
	for i, c := range f.Changes {
		numbers[i] = c.Rank
	}
	who := "rank " + Ranks(numbers)
	if len(numbers) > 1 {
		who = "ranks " + Ranks(numbers)
	}
	if f.Worker != "" {
		who += " on " + f.String()
	}
	return who
}

// Sentence says what has changed. Of several ranks it has the times of the slowest.
func (f Found) Sentence() string {
	c, is := f.slowest(), f.Subject()+" is"
	if len(f.Changes) > 1 {
		is = f.Subject() + " are"
	}
	if c.Recovered {
		return fmt.Sprintf("%s no longer slower than the others: %s a step, median of %d ranks %s", is, Seconds(c.Time), c.Ranks, Seconds(c.Median))
	}
	if len(f.Changes) > 1 {
		is += " up to"
	}
	return fmt.Sprintf("%s %.0f %% slower than the median of %d ranks: %s a step, median %s", is, 100*c.Slower(), c.Ranks, Seconds(c.Time), Seconds(c.Median))
}

// Seconds formats a step time: "1.31 s", "84 ms".
func Seconds(s float64) string {
	switch {
	case s >= 100:
		return fmt.Sprintf("%.0f s", s)
	case s >= 10:
		return fmt.Sprintf("%.1f s", s)
	case s >= 0.1:
		return fmt.Sprintf("%.2f s", s)
	case s >= 0.01:
		return fmt.Sprintf("%.0f ms", 1000*s)
	}
	return fmt.Sprintf("%.2f ms", 1000*s)
}

// Ranks writes ascending numbers as "0-7,9".
func Ranks(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := strconv.Itoa(numbers[i])
		if j > i {
			part += "-" + strconv.Itoa(numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
