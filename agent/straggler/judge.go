package straggler

import (
	"math"
	"slices"
)

const (
	// threshold is the modified z-score above which a time is an outlier (Iglewicz and Hoaglin, How
	// to Detect and Handle Outliers, 1993).
	threshold = 3.5
	// sigma makes the median absolute deviation comparable to a standard deviation.
	sigma = 1.4826
	// floor is the part of the median by which a straggler is slower at least. Ranks that are nearly
	// equal have a deviation near 0, which would name everyone.
	floor = 0.15
	// most is the largest part of the ranks that can be stragglers. With more, the job has two kinds
	// of ranks, such as those of two kinds of nodes.
	most = 1.0 / 3
	// fewest is the smallest number of ranks that are compared.
	fewest = 4
)

// Judge returns the median of the step times of ranks, and which of them are slow. All are false if
// there are fewer than four ranks, or if more than a third of them are slow.
func Judge(times []float64) (middle float64, slow []bool) {
	slow = make([]bool, len(times))
	middle = median(slices.Clone(times))
	if len(times) < fewest || middle <= 0 {
		return middle, slow
	}
	apart := make([]float64, len(times))
	for i, t := range times {
		apart[i] = math.Abs(t - middle)
	}
	limit := max(threshold*sigma*median(apart), floor*middle)
	n := 0
	for i, t := range times {
		if t-middle >= limit {
			slow[i] = true
			n++
		}
	}
	if float64(n) > most*float64(len(times)) {
		clear(slow)
	}
	return middle, slow
}

// median returns the median of list, which it sorts; 0 if it is empty.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	half := len(list) / 2
	if len(list)%2 == 1 {
		return list[half]
	}
	return (list[half-1] + list[half]) / 2
}
