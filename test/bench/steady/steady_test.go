//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		name      string
		a, b      []float64
		low, high float64
	}{
		{"no noise", []float64{3, 3, 3}, []float64{2, 2, 2}, 1.5, 1.5},
		{"nothing", nil, nil, 0, 0},
		{"one wild run of many", []float64{1, 1, 1, 1, 1, 1, 1, 1, 9}, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, 1},
		{"pairs that rise and fall together", []float64{1, 2, 4}, []float64{1, 2, 4}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			low, high := interval(c.a, c.b)
			require.InDelta(t, c.low, low, 1e-9)
			require.InDelta(t, c.high, high, 1e-9)
		})
	}
	low, high := interval([]float64{1.0, 1.1, 0.9, 1.05, 0.95}, []float64{1, 1, 1, 1, 1})
	require.Less(t, low, 1.0)
	require.Greater(t, high, 1.0)
}

func TestParameters(t *testing.T) {
	require.Equal(t, []string{"OMPI_MCA_btl='self,tcp'", `OMPI_MCA_note='it'\''s = so'`}, parameters(
		"PATH=/bin\nOMPI_MCA_plm_rsh_agent=/muster/agent\nOMPI_MCA_btl=self,tcp\nOMPI_MCA_orte_default_hostfile=/x\nrest of a line\nOMPI_MCA_note=it's = so\n"))
}

func TestReadAllreduce(t *testing.T) {
	seconds, err := readAllreduce("", "a warning\nallreduce 20 3.5 2100\n")
	require.NoError(t, err)
	require.InDelta(t, 3.5, seconds, 1e-9)
	_, err = readAllreduce("", "nothing")
	require.Error(t, err)
}
