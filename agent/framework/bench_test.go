package framework

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPrepare prepares the ranks of one launch. The time for a rank must not grow with their
// number, apart from TensorFlow's, whose TF_CONFIG has the addresses of all.
func BenchmarkPrepare(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		c := manyWorkers(n)
		for _, of := range []string{"torch", "plain", "jax", "tensorflow"} {
			if of == "tensorflow" && n > 1000 {
				continue // gigabytes of TF_CONFIG
			}
			b.Run(fmt.Sprintf("%s/%d", of, n), func(b *testing.B) {
				f, err := Named(of)
				require.NoError(b, err)
				for b.Loop() {
					launch, err := f.Prepare(c)
					require.NoError(b, err)
					require.NotEmpty(b, launch.Processes)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/rank")
			})
		}
	}
}
