//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSupportMatrixListsTheColumns checks the table of MPIs in the support matrix. It has the columns of the
// conformance page, in its order. Both have the versions that the suite installs.
func TestSupportMatrixListsTheColumns(t *testing.T) {
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "docs"}, path...)...))
		require.NoError(t, err)
		return string(text)
	}
	_, section, found := strings.Cut(read("operations", "support.md"), "\n## MPI\n")
	require.True(t, found, "support.md has no section MPI")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*\d[^|]*) \| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(section, -1) {
		listed = append(listed, row[1]+" ("+row[2]+")")
	}
	head := regexp.MustCompile(`(?m)^\| event \| \| (.+) \|$`).FindStringSubmatch(read("explanation", "mpi-conformance.md"))
	require.NotNil(t, head, "mpi-conformance.md has no table")
	require.Equal(t, strings.Split(head[1], " | "), listed)

	all := columns("")
	require.Len(t, listed, len(all))
	for i, c := range all {
		require.True(t, strings.HasPrefix(listed[i], c.title) && strings.HasSuffix(listed[i], " ("+c.from+")"),
			"%s: the suite has %s from %s", listed[i], c.title, c.from)
	}
}
