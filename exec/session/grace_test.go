//go:build linux

package session

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGraceCannotOverflow(t *testing.T) {
	for millis, want := range map[int64]time.Duration{
		0: 0, -1: 0, math.MinInt64: 0, 1500: 1500 * time.Millisecond, 1 << 60: longestLease, math.MaxInt64: longestLease,
	} {
		require.Equal(t, want, graceOf(millis))
	}
}
