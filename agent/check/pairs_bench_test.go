package check

import (
	"fmt"
	"testing"
)

// BenchmarkPairs judges a job in which no worker can be reached.
func BenchmarkPairs(b *testing.B) {
	for _, n := range []int{1000, 3000} {
		var pairs []Pair
		for i := range n {
			for distance := 1; distance <= 2; distance++ { // as the preflight does in large jobs
				pairs = append(pairs, Pair{From: fmt.Sprint("pi-worker-", i), To: fmt.Sprint("pi-worker-", (i+distance)%n), Error: "connection refused"})
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				OfPairs(pairs, nil)
			}
		})
	}
}
