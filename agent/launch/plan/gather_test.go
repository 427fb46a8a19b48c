package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGatherMillis(t *testing.T) {
	for processes, want := range map[int]int{1: 0, 49: 0, 50: 20, 1000: 400, 2000: 400, 100_000: 400} {
		require.Equal(t, want, GatherMillis(processes), processes)
	}
}
