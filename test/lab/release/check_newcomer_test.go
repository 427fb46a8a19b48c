package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// TestTheReadmeHasLinesForAnArchive checks that release-check finds them, and that the release packs the program that
// they start.
func TestTheReadmeHasLinesForAnArchive(t *testing.T) {
	root, err := figure.Root()
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	lines, err := archiveLines(string(readme))
	require.NoError(t, err)
	require.Regexp(t, `^curl -L `+readmeArchive+`linux_amd64\.tar\.gz \| tar xz\n\./agent run --fake 4 .*examples/pi/pi\.py\n$`, lines)
	config, err := os.ReadFile("goreleaser.yaml")
	require.NoError(t, err)
	require.Contains(t, string(config), "src: examples/pi/*")
	_, err = archiveLines("# Muster\n```sh\nmake run\n```\n")
	require.ErrorContains(t, err, "README.md has no commands with https://github.com/musterhq/muster/releases/download/")
}
