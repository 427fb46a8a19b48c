package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercentFor(t *testing.T) {
	for workers, want := range map[int]int{0: 400, 1: 400, 80: 400, 100: 363, 300: 160, 1000: 100, 10_000: 100} {
		require.Equal(t, want, percentFor(workers), workers)
	}
}
