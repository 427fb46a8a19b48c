package main

import (
	osexec "os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/man"
)

// TestManPages generates the manual pages of the real programs, and has mandoc check them.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pages, err := man.Write(t.Context(), bin, dir, time.Unix(0, 0))
	require.NoError(t, err)
	want := []string{"agent"}
	for _, verb := range allVerbs() {
		if verb != "help" {
			want = append(want, "agent-"+verb)
		}
	}
	require.ElementsMatch(t, want, pages)
	args := []string{"-T", "lint", "-W", "warning"}
	for _, page := range pages {
		args = append(args, filepath.Join(dir, page+".1"))
	}
	out, err := osexec.Command("mandoc", args...).CombinedOutput() // make deps installs mandoc
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))

	text, err := osexec.Command("mandoc", "-T", "ascii", "-O", "width=200", filepath.Join(dir, "agent-run.1")).CombinedOutput()
	require.NoError(t, err)
	plain := string(slices.DeleteFunc(text, func(b byte) bool { return b == '\b' }))
	require.Contains(t, plain, "fail (exit 75) if workers are missing after this long; 0: never (default 10m0s)")
	require.Contains(t, plain, "the launcher lacks a permission")
}
