package proc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercentFor(t *testing.T) {
	for workers, want := range map[int]int{0: 400, 1: 400, 80: 400, 100: 400, 300: 307, 1000: 117, 3000: 42, 10_000: 25} {
		require.Equal(t, want, percentFor(workers), workers)
	}
}
