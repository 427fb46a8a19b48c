//go:build linux

package program

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsage(t *testing.T) {
	u, err := UsageOf(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, u.PeakMB, 1.0)
	_, err = UsageOf(-1)
	require.ErrorContains(t, err, "read memory")
}
