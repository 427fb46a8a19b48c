//go:build linux

package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryKills(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		want          int
	}{
		"nothing":        {"other", "oom_kill 3\n", 0},
		"v2":             {"memory.events", "low 0\nhigh 0\nmax 12\noom 2\noom_kill 3\noom_group_kill 0\n", 3},
		"v1":             {"memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", 2},
		"v1 before 4.13": {"memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", 0},
		"no number":      {"memory.events", "oom_kill many\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, c.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			require.Equal(t, c.want, MemoryKills(root))
		})
	}
}
