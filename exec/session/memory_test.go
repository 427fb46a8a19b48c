//go:build linux

package session

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// TestMemoryKillsAreReported checks that each kill is reported once, to the sessions that it may
// have affected.
func TestMemoryKillsAreReported(t *testing.T) {
	root := t.TempDir()
	kills := func(n string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, "memory.events"), []byte("oom_kill "+n+"\n"), 0o600))
	}
	kills("2")
	s := New(Config{Cgroup: root, Reaper: reap.New(), Log: slog.New(slog.DiscardHandler)})
	s.observer.wants.reports = true
	s.sessions["a"] = s.newSession(wire.OpenRecord{ID: "a"})
	look := func() int {
		s.observer.mu.Lock()
		defer s.observer.mu.Unlock()
		s.observer.starvedLocked()
		return len(s.observer.reports)
	}
	require.Zero(t, look(), "the kills happened before the observer started")
	kills("3")
	require.Equal(t, 1, look())
	require.Equal(t, 1, look(), "already reported")
	require.Equal(t, wire.ReportMemory, s.observer.reports[0].Kind)
	require.Equal(t, "a", s.observer.reports[0].Session)
	kills("5")
	require.Equal(t, 2, look())
}
