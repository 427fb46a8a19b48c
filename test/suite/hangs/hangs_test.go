package hangs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	dir := t.TempDir()
	none, err := Count(dir)
	require.NoError(t, err)
	require.Empty(t, none)

	require.NoError(t, Note(dir, "fake", "one", 3*time.Second, "agent: finished in 3.0 s on 2 workers, exit code 0\n"))
	require.NoError(t, Note(dir, "fake", "two", 90*time.Second, "x\nagent: sh seems to hang: for 1800 s nothing was printed\n"+
		"agent: rank 0 ended with 0 75 s ago, and no activity for 60 s; still running: 1 process\n"))
	require.NoError(t, Note(dir, "heal", "one", time.Minute, "it hangs\n"))
	all, err := Count(dir)
	require.NoError(t, err)
	require.Equal(t, []Total{
		{"fake", 2, 90 * time.Second, []string{"two: agent: sh seems to hang: for 1800 s nothing was printed",
			"two: agent: rank 0 ended with 0 75 s ago, and no activity for 60 s; still running: 1 process"}},
		{"heal", 1, time.Minute, nil},
	}, all)
}

func TestAsked(t *testing.T) {
	for want, lines := range map[bool][][]string{
		true:  {{"run", "--hang-after=3s"}, {"--hang-after", "3s"}, {"MUSTER_HANG_AFTER=3s"}, {"--exit-within=1m"}},
		false: {nil, {"run", "--hang-action=report", "--", "true"}},
	} {
		for _, words := range lines {
			require.Equal(t, want, Asked(words), words)
		}
	}
}
