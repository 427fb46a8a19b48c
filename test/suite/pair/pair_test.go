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
		script := "#!/bin/sh\necho " + build + " $1 >> " + log + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, build, "agent"), []byte(script), 0o755))
	}
	p := Pair{Before: filepath.Join(dir, "before"), After: filepath.Join(dir, "after"), Args: []string{"run"}, Rounds: 2}
	s, err := p.Times(t.Context())
	require.NoError(t, err)
	require.Len(t, s.Samples, 2)
	require.Len(t, s.Over, 2)
	ratio, err := s.Value()
	require.NoError(t, err)
	require.Positive(t, ratio)
	played, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "before run,after run,after run,before run,before run,after run,", strings.ReplaceAll(string(played), "\n", ","))
}

func TestFailedCommandIsAnError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\necho why; exit 3\n"), 0o755))
	_, err := Pair{Before: dir, After: dir, Rounds: 1}.Times(t.Context())
	require.ErrorContains(t, err, "exit status 3\nwhy")
}
