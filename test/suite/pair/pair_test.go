//go:build linux

package pair

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuildsTakeTurns(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for _, build := range []string{"before", "after"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, build), 0o755))
		script := "#!/bin/sh\necho " + build + " $* >> " + log + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, build, "agent"), []byte(script), 0o755))
	}
	p := Pair{Before: filepath.Join(dir, "before"), After: filepath.Join(dir, "after"), Args: []string{"run", "x"}, MoreArgs: []string{"--more"}, Rounds: 2}
	s, err := p.Times(t.Context())
	require.NoError(t, err)
	require.Len(t, s.Wall.Samples, 2)
	require.Len(t, s.CPU.Over, 2)
	ratio, err := s.Wall.Value()
	require.NoError(t, err)
	require.Positive(t, ratio)
	played, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "before run x,after run --more x,after run --more x,before run x,before run x,after run --more x,", strings.ReplaceAll(string(played), "\n", ","))
}

func TestFailedCommandIsAnError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\necho why; exit 3\n"), 0o755))
	_, err := Pair{Before: dir, After: dir, Rounds: 1}.Times(t.Context())
	require.ErrorContains(t, err, "exit status 3\nwhy")
}

// TestOnlyTheProcessItselfCounts checks that the CPU time of a child is not that of its parent.
func TestOnlyTheProcessItselfCounts(t *testing.T) {
	dir := t.TempDir()
	busy := "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	measure := func(script string) float64 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		_, cpu, err := Pair{Before: dir, Args: []string{"run"}}.time(t.Context(), false)
		require.NoError(t, err)
		return cpu
	}
	idle := measure("sh -c '" + busy + "'; true")
	require.Greater(t, measure(busy), 2*idle)
	require.NotZero(t, int64(idle*1e9)%1e6, "the clock has steps of less than a millisecond")
}
