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
