package group

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGaveUp checks that of thousands of processes that were given up, the first are named.
func TestGaveUp(t *testing.T) {
	var left []string
	for i := range 3000 {
		left = append(left, fmt.Sprintf("rank %d on w-%d", i, i))
	}
	for _, c := range []struct{ left, named, more int }{{0, 0, 0}, {1, 1, 0}, {5, 5, 0}, {6, 5, 1}, {3000, 5, 2995}} {
		named, more := Result{Left: left[:c.left]}.GaveUp()
		require.Equal(t, left[:c.named], append([]string{}, named...))
		require.Equal(t, c.more, more)
	}
}
