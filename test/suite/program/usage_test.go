//go:build linux

package program

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseUsage(t *testing.T) {
	status := []byte("Name:\tcontroller\nVmPeak:\t 1200000 kB\nVmHWM:\t   62500 kB\nVmRSS:\t   40000 kB\n")
	stat := []byte("17 (con (t) r) S 1 17 17 0 -1 4194560 1 2 3 4 150 74 7 8 20 0 1 0 98765 1000 200\n")
	u, err := parseUsage(status, stat)
	require.NoError(t, err)
	require.Equal(t, Usage{PeakMB: 64, CPUSeconds: 2.24}, u)
	_, err = parseUsage([]byte("Name:\tx\n"), stat)
	require.ErrorContains(t, err, "no VmHWM")
	_, err = parseUsage(status, []byte("17 (x) S 1"))
	require.ErrorContains(t, err, "too short")

	u, err = UsageOf(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, u.PeakMB, 1.0)
	_, err = UsageOf(-1)
	require.ErrorContains(t, err, "read memory")
}
