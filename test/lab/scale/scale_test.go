//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/measure"
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
