//go:build linux

package stacks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWithin checks that a file system that does not answer costs only the time limit of the call.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		got, ok := within(ctx, func() int { time.Sleep(time.Hour); return 3 })
		require.False(t, ok)
		require.Zero(t, got)
		require.Equal(t, time.Second+answerTime, time.Since(began))

		got, ok = within(ctx, func() int { return 3 })
		require.True(t, ok, "the call took no time")
		require.Equal(t, 3, got)
		time.Sleep(time.Hour)
	})
}
