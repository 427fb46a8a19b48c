//go:build linux

package session

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
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
			require.Equal(t, c.want, memoryKills(root))
		})
	}
}

// Each kill is told once, to sessions that it may have struck.
func TestMemoryKillsAreReported(t *testing.T) {
	root := t.TempDir()
	kills := func(n string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, "memory.events"), []byte("oom_kill "+n+"\n"), 0o600))
	}
	kills("2")
	s := New(Config{Cgroup: root, Log: slog.New(slog.DiscardHandler)})
	s.wantsReports = true
	s.sessions["a"] = s.newSession(wire.OpenRecord{ID: "a"})
	look := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starvedLocked()
		return len(s.reports)
	}
	require.Zero(t, look(), "from before it began")
	kills("3")
	require.Equal(t, 1, look())
	require.Equal(t, 1, look(), "told already")
	require.Equal(t, wire.ReportMemory, s.reports[0].Kind)
	require.Equal(t, "a", s.reports[0].Session)
	kills("5")
	require.Equal(t, 2, look())
}
