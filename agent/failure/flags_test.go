package failure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlag(t *testing.T) {
	run := []string{"workers", "min-workers", "max-workers", "slots", "procs-per-worker", "hostfile", "namespace", "env", "chdir", "max-restarts", "fake", "log-level", "timeout"}
	for typed, want := range map[string]string{
		"--np": "workers", "nproc": "workers", "--nproc_per_node": "procs-per-worker", "nnodes": "workers", "hosts": "hostfile", "H": "hostfile",
		"ntasks-per-node": "procs-per-worker", "x": "env", "wdir": "chdir", "wrokers": "workers", "max_restarts": "max-restarts", "name-space": "namespace",
		"procs": "workers", "log": "log-level", "name": "namespace", "retries": "max-restarts",
		"frobnicate": "", "z": "", "max": "",
	} {
		require.Equal(t, want, Flag(typed, run), typed)
	}
	require.Equal(t, "slots", Flag("nproc-per-node", []string{"slots"}), "the verb's own flags only")
	require.Empty(t, Flag("np", []string{"output"}))
}

func TestFlagHint(t *testing.T) {
	require.Equal(t, "did you mean --workers? agent run --help lists the flags", FlagHint("agent run", "np", []string{"workers"}))
	require.Equal(t, "agent run --help lists the flags", FlagHint("agent run", "frobnicate", []string{"workers"}))
}
