package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRanksOnce checks that the script of a command is read once for all processes with that command.
func TestRanksOnce(t *testing.T) {
	reads := map[string]int{}
	once := ranksOnce{func(path string) string { reads[path]++; return "torchrun x.py" }, map[string]bool{}}
	for range 3 {
		require.True(t, once.of([]string{"bash", "run.sh"}))
		require.False(t, once.of([]string{"python3", "x.py"}))
	}
	require.Equal(t, 1, reads["run.sh"])
}
