package main

import (
	"math/rand/v2"
	"slices"

	"github.com/musterhq/muster/test/suite/figure"
)

// interval returns the 95 % confidence interval of the ratio of medians of a and b, by bootstrap: it draws
// pairs with replacement, in groups of together adjacent pairs. The same
// numbers yield the same interval.
func interval(a, b []float64, together int) (low, high float64) {
	const draws = 4000
	if len(a) == 0 || len(a) != len(b) || len(a)%together != 0 {
		return 0, 0
	}
	rng := rand.New(rand.NewPCG(1, 2))
	ratios := make([]float64, draws)
	x, y := make([]float64, len(a)), make([]float64, len(b))
	for i := range ratios {
		for j := 0; j < len(a); j += together {
			k := together * rng.IntN(len(a)/together)
			copy(x[j:j+together], a[k:])
			copy(y[j:j+together], b[k:])
		}
		ratios[i] = figure.Median(x) / figure.Median(y)
	}
	slices.Sort(ratios)
	return ratios[draws*25/1000], ratios[draws*975/1000]
}
