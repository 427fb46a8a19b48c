package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingStraysIntoTheRoot: programs that tests start write where they are started.
func TestNothingStraysIntoTheRoot(t *testing.T) {
	known := []string{"agent", "bin", "cmd", "docs", "examples", "exec", "hostfile", "images", "out", "rendezvous", "test",
		"go.mod", "go.sum", "LICENSE", "Makefile"}
	entries, err := os.ReadDir(root(t))
	require.NoError(t, err)
	for _, e := range entries {
		name := e.Name()
		require.True(t, slices.Contains(known, name) || filepath.Ext(name) == ".md" || strings.HasPrefix(name, "."), "%s in the root: is it meant to be there?", name)
	}
}

// TestTestsHaveFewRooms: a reader finds a suite at a glance, and its folder says what it proves.
func TestTestsHaveFewRooms(t *testing.T) {
	const most = 12
	entries, err := os.ReadDir(filepath.Join(root(t), "test"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), most, "what only full suites need belongs below test/lab, what suites share below test/suite")
	for _, e := range entries {
		dir := filepath.Join(root(t), "test", e.Name())
		_, doc := os.Stat(filepath.Join(dir, "doc.go"))
		_, readme := os.Stat(filepath.Join(dir, "README.md"))
		require.True(t, doc == nil || readme == nil, "test/%s has no doc.go that says what it proves and how to run it", e.Name())
	}
}
