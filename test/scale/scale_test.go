//go:build linux

package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/measure"
)

func TestStamps(t *testing.T) {
	log, err := measure.ParseLines(`2026-11-22T14:05:09.100000000Z agent: 19/20 ready
2026-11-22T14:05:09.500000000Z agent: 20/20 ready
2026-11-22T14:05:10.000000001Z agent: mpirun /opt/muster-test/hello
2026-11-22T14:05:11.250000000Z rank 0 of 40 on w session 1
2026-11-22T14:05:11.300000000Z rank 1 of 40 on w session 1
`)
	require.NoError(t, err)
	ready, line, err := stamps(log, "20/20 ready")
	require.NoError(t, err)
	require.Equal(t, 1750*time.Millisecond, line.Sub(ready))
	_, _, err = stamps(log[:2], "20/20 ready")
	require.ErrorContains(t, err, "or no rank's line")
}

func TestParseUsage(t *testing.T) {
	status := []byte("Name:\tcontroller\nVmPeak:\t 1200000 kB\nVmHWM:\t   62500 kB\nVmRSS:\t   40000 kB\n")
	stat := []byte("17 (con (t) r) S 1 17 17 0 -1 4194560 1 2 3 4 150 74 7 8 20 0 1 0 98765 1000 200\n")
	u, err := parseUsage(status, stat)
	require.NoError(t, err)
	require.Equal(t, usage{PeakMB: 64, CPUSeconds: 2.24}, u)
	_, err = parseUsage([]byte("Name:\tx\n"), stat)
	require.ErrorContains(t, err, "no VmHWM")
	_, err = parseUsage(status, []byte("17 (x) S 1"))
	require.ErrorContains(t, err, "too short")

	// Of this process: a megabyte that is touched is there.
	self, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	own, err := os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	u, err = parseUsage(self, own)
	require.NoError(t, err)
	require.Greater(t, u.PeakMB, 1.0)
}
