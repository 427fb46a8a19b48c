package stacks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/stacks"
)

// TestTheModule checks that the module and this package use the same signals, and that the image's
// own module runs after ours.
func TestTheModule(t *testing.T) {
	ours, theirs := t.TempDir(), t.TempDir()
	require.NoError(t, stacks.Lay(ours))
	text, err := os.ReadFile(filepath.Join(ours, "sitecustomize.py"))
	require.NoError(t, err)
	require.Contains(t, string(text), fmt.Sprintf("\nSIGNAL = %d\nRETURN_SIGNAL = %d\n", stacks.Signal, stacks.ReturnSignal))
	require.NoError(t, os.WriteFile(filepath.Join(theirs, "sitecustomize.py"), []byte("print('theirs', __name__)"), 0o600))

	for name, path := range map[string]string{"once": ours + ":" + theirs, "twice": ours + ":" + ours + ":" + theirs} {
		cmd := exec.Command("python3", "-c", "import os; print([n for n in range(300) if os.path.exists('/proc/self/fd/%d' % n) and 'muster' in os.readlink('/proc/self/fd/%d' % n)])")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + path, "PYTHONDONTWRITEBYTECODE=1"}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "theirs sitecustomize\n[240]\n", string(out), name)
	}
	// Python still starts with few descriptors.
	cmd := exec.Command("sh", "-c", "ulimit -n 64; exec python3 -c 'print(1)'")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + ours, "PYTHONDONTWRITEBYTECODE=1"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "1\n", string(out))
}
