//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContendersRunTheSame checks that the contenders differ only in how mpirun reaches the workers.
func TestContendersRunTheSame(t *testing.T) {
	for _, c := range contenders() {
		p := c.launcher("i", 3, "/k")
		_, ranks, found := strings.Cut(strings.Join(p.Spec.Containers[0].Command, " "), "mpirun --allow-run-as-root ")
		require.True(t, found)
		ranks = strings.TrimPrefix(ranks, "--leave-session-attached ")
		require.Equal(t, "sh -c "+rank, ranks, c.key)
		require.Len(t, c.workers("i", 3), 3)
	}
}

func TestPerWorker(t *testing.T) {
	results := []result{
		{Contender: "muster", Workers: 20, Before: reading{Goroutines: 1000, Live: 1e6}, Into: reading{Goroutines: 1040, Live: 2e6}, ToEnd: 22},
		{Contender: "kubexec", Workers: 20, Into: reading{Streams: 20}},
		{Contender: "muster", Workers: 20, Before: reading{Goroutines: 1000}, Into: reading{Goroutines: 990}},
	}
	c := columns()
	require.Equal(t, []float64{2, -0.5}, samples(results, "muster", 20, c[goroutines].of))
	require.Equal(t, []float64{50, 0}, samples(results, "muster", 20, c[memory].of))
	require.Equal(t, []float64{20}, samples(results, "kubexec", 20, c[streams].of))
	require.Equal(t, []float64{1.1, 0}, samples(results, "muster", 20, c[len(c)-1].of))
	require.Empty(t, samples(results, "muster", 60, c[streams].of))
}
