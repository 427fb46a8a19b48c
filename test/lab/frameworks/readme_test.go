//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteList(t *testing.T) {
	all := []row{
		{key: "a", framework: "A", way: "in CI", ci: true, flags: []string{"--framework=torch"}},
		{key: "b", framework: "B", way: "by hand", argv: []string{"mpirun", "x"}},
		{key: "c", framework: "C", way: "failed", ci: true, flags: []string{"--framework=jax"}},
	}
	results := []result{
		{Key: "a", Where: "cluster", Result: passed}, {Key: "b", Where: "fake", Result: passed},
		{Key: "c", Where: "cluster", Result: failed}, {Key: "c", Where: "fake", Result: notHere},
	}
	const begin, end = "<!-- frameworks: begin -->\n", "<!-- frameworks: end -->\nafter\n"
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n"+begin+"old\n"+end), 0o644))
	require.NoError(t, writeList(page, all, results))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	got := string(text)
	require.NotContains(t, got, "old")
	require.True(t, strings.HasPrefix(got, "before\n"+begin) && strings.HasSuffix(got, end), got)
	ci, rest, ok := strings.Cut(got, "Run by `make frameworks`")
	require.True(t, ok)
	require.Contains(t, ci, "- A: in CI\n")
	byHand, never, ok := strings.Cut(rest, "never run by us")
	require.True(t, ok)
	require.Contains(t, byHand, "- B: by hand (fake workers only)\n")
	require.Contains(t, never, "C, failed")
	require.Contains(t, never, "`--framework=jax`")
	require.NotContains(t, never, "`--framework=torch`")
	require.NotContains(t, never, "openmpi")

	require.NoError(t, os.WriteFile(page, []byte("nothing\n"), 0o644))
	require.Error(t, writeList(page, all, results))
}
