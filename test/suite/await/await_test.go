package await

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began, asked := time.Now(), 0
		require.NoError(t, Until(ctx, time.Second, "three", func() (bool, error) { asked++; return asked == 3, nil }))
		require.Equal(t, 2*time.Second, time.Since(began))
		odd := errors.New("odd")
		require.Equal(t, odd, Until(ctx, time.Second, "it", func() (bool, error) { return true, odd }))
		err := Until(ctx, time.Second, "nothing", func() (bool, error) { return false, odd })
		require.ErrorIs(t, err, odd)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "wait for nothing")
		require.Equal(t, time.Minute, time.Since(began))
	})
}
