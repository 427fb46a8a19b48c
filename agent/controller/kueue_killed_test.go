//go:build !race && !e2e

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQueuedLifeKilled plays the life of TestQueuedLife with a controller that is killed before or after each of its
// writes. It starts no goroutine.
func TestQueuedLifeKilled(t *testing.T) {
	writes, whole := queuedLife(t, 0, false)
	for at := 1; at <= writes; at++ {
		for _, after := range []bool{false, true} {
			_, ends := queuedLife(t, at, after)
			require.Equal(t, whole, ends, "killed at write %d, after: %v", at, after)
		}
	}
}
