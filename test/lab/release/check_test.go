package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/release/oci"
)

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	write := func(name, inside string) string {
		data, err := packed([]oci.File{{Name: inside, Mode: 0o755, Data: []byte("text")}}, time.Unix(0, 0))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		return filepath.Join(dir, name)
	}
	require.NoError(t, unpack(write("good.tgz", "a/b"), filepath.Join(dir, "good")))
	info, err := os.Stat(filepath.Join(dir, "good/a/b"))
	require.NoError(t, err)
	require.EqualValues(t, 0o755, info.Mode())
	require.EqualError(t, unpack(write("bad.tgz", "../b"), filepath.Join(dir, "bad")), "unpack: ../b is not below the archive")
	require.NoFileExists(t, filepath.Join(dir, "b"))
	require.Error(t, unpack(write("good.zip", "a"), filepath.Join(dir, "zip")), "the file is not a .zip")
}

func TestArtifacts(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "artifacts.json"), []byte(text), 0o600))
	}
	_, _, err := artifacts(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	write(`[{"type": "Metadata", "name": "metadata.json"}]`)
	_, _, err = artifacts(dir)
	require.EqualError(t, err, "goreleaser made 0 binaries and 0 archives")
	write(`[{"type": "Binary", "name": "agent", "path": "out/b", "goos": "linux", "goarch": "arm64", "extra": {"ID": "client"}},
		{"type": "Binary", "name": "agent", "path": "out/a", "goos": "linux", "goarch": "arm64", "extra": {"ID": "agent"}},
		{"type": "Archive", "name": "a.tar.gz", "path": "out/a.tar.gz"}]`)
	binaries, archives, err := artifacts(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"agent_linux_arm64", "client_linux_arm64"}, []string{binaries[0].label(), binaries[1].label()})
	require.Equal(t, "out/a.tar.gz", archives[0].Path)
}

// TestChecksums checks that files derived from the checksums need not be listed in them, and that all other files must be.
func TestChecksums(t *testing.T) {
	b := &bench{dir: t.TempDir()}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
	}
	write("install.yaml", "text")
	sums, err := checksums(b.dir)
	require.NoError(t, err)
	write(checksumsName, sums)
	write(provenanceName, "{}")
	write(checksumsName+bundleSuffix, "{}")
	seen, err := b.checksums(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1 files", seen)
	write("install.yaml", "changed")
	_, err = b.checksums(t.Context())
	require.ErrorContains(t, err, "the files are")
	write("install.yaml", "text")
	write("another", "file")
	_, err = b.checksums(t.Context())
	require.ErrorContains(t, err, "another")
}
