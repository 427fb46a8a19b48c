//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		name      string
		a, b      []float64
		low, high float64
	}{
		{"no noise", []float64{3, 3, 3}, []float64{2, 2, 2}, 1.5, 1.5},
		{"no samples", nil, nil, 0, 0},
		{"one outlier", []float64{1, 1, 1, 1, 1, 1, 1, 1, 9}, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, 1},
		{"correlated pairs", []float64{1, 2, 4}, []float64{1, 2, 4}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			low, high := interval(c.a, c.b, 1)
			require.InDelta(t, c.low, low, 1e-9)
			require.InDelta(t, c.high, high, 1e-9)
		})
	}
	low, high := interval([]float64{1.0, 1.1, 0.9, 1.05, 0.95}, []float64{1, 1, 1, 1, 1}, 1)
	require.Less(t, low, 1.0)
	require.Greater(t, high, 1.0)
	low, high = interval([]float64{2, 2, 2, 4, 4, 4}, []float64{1, 1, 1, 1, 1, 1}, 3)
	require.Equal(t, [2]float64{2, 4}, [2]float64{low, high}, "two launches of three samples count as two, not six")
}

func TestParameters(t *testing.T) {
	require.Equal(t, []string{"OMPI_MCA_btl='self,tcp'", `OMPI_MCA_note='it'\''s = so'`}, parameters(
		"PATH=/bin\nOMPI_MCA_plm_rsh_agent=/muster/agent\nOMPI_MCA_btl=self,tcp\nOMPI_MCA_orte_default_hostfile=/x\nrest of a line\nOMPI_MCA_note=it's = so\n"))
}

func TestParseHPCC(t *testing.T) {
	solved := "WR11C2R4        2000    80     1     2               0.46              1.168e+01\n"
	head := "T/V                N    NB     P     Q               Time                 Gflops\n"
	times, err := parseHPCC([]byte(strings.Repeat(head+solved, timesOfHPL) + "\nSuccess=1\n"))
	require.NoError(t, err)
	require.InDeltaSlice(t, slices.Repeat([]float64{0.4571}, timesOfHPL), times, 1e-4)
	for name, text := range map[string]string{
		"a solution is missing": strings.Repeat(head+solved, timesOfHPL-1) + "\nSuccess=1\n",
		"a wrong sum":           strings.Repeat(head+solved, timesOfHPL) + "\nSuccess=0\n",
		"no output":             "",
	} {
		_, err := parseHPCC([]byte(text))
		require.ErrorContains(t, err, "hpcc failed", name)
	}
}

// TestGate checks that ranks pass the gate once a slice, and not during the other job's slices.
func TestGate(t *testing.T) {
	a := &arm{name: "with", dir: t.TempDir()}
	t.Cleanup(a.close)
	g, err := newGate(a)
	require.NoError(t, err)
	t.Cleanup(g.close)
	for range 2 { // launches
		require.NoError(t, g.shut())
		var passed atomic.Int32
		rank := make(chan error, 1)
		go func() { rank <- playRank(g.path, &passed) }()
		for n := range 5 {
			seconds, err := g.slice(t.Context())
			require.NoError(t, err)
			require.InDelta(t, 0.5, seconds, 1e-9)
			require.EqualValues(t, n+1, passed.Load())
		}
		require.NoError(t, g.end())
		require.NoError(t, <-rank)
	}
	require.NoError(t, g.shut())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.slice(ctx)
	require.ErrorIs(t, err, context.Canceled, "no rank is running")
}

// playRank acts as rank 0 of testdata/allreduce.c.
func playRank(gate string, passed *atomic.Int32) error {
	told, err := os.OpenFile(gate+"-slices", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer told.Close()
	for slice := 0; ; slice++ {
		f, err := os.Open(fmt.Sprintf("%s-%d", gate, slice%2))
		if err != nil {
			return err
		}
		if err := errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_SH), f.Close()); err != nil {
			return err
		}
		if _, err := os.Stat(gate + "-end"); err == nil {
			return nil
		}
		passed.Add(1)
		if _, err := told.WriteString("0.5\n"); err != nil {
			return err
		}
	}
}
