package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/release/oci"
)

// TestThePluginsManifestMatchesTheArchives makes a release of two archives and their manifest, and then
// changes the manifest or the archives.
func TestThePluginsManifestMatchesTheArchives(t *testing.T) {
	for name, row := range map[string]struct {
		old, new string // in the manifest
		mode     int64  // of the program
		more     string // another file
		err      string
	}{
		"a good one":          {},
		"another version":     {old: "version: v1.2.3", new: "version: v1.2.4", err: "krew.yaml is of muster v1.2.4"},
		"another place":       {old: "/download/v1.2.3/", new: "/download/v1.2.2/", err: "the address is https://github.com/musterhq/muster/releases/download/v1.2.2/"},
		"another checksum":    {old: "sha256: ", new: "sha256: 0", err: "linux_amd64: the checksum is 0"},
		"another program":     {old: "bin: agent.exe", new: "bin: agent", err: "windows_amd64: the program is agent, and not agent.exe"},
		"another platform":    {old: "arch: amd64", new: "arch: arm64", err: "linux_arm64: the address is "},
		"no program":          {mode: 0o644, err: "linux_amd64: agent in muster-client_1.2.3_linux_amd64.tar.gz is no program"},
		"an archive too many": {more: "muster-client_1.2.3_darwin_arm64.tar.gz", err: "krew.yaml names ["},
		"another archive":     {more: "muster_1.2.3_linux_arm64.tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{dir: t.TempDir(), tmp: t.TempDir(), version: "v1.2.3"}
			mode := row.mode
			if mode == 0 {
				mode = 0o755
			}
			text := "metadata: {name: muster}\nspec:\n  version: v1.2.3\n  platforms:\n" +
				archived(t, b.dir, "linux", "tar.gz", "agent", tarball(t, mode)) + archived(t, b.dir, "windows", "zip", "agent.exe", zipped(t))
			require.Contains(t, text, row.old)
			text = strings.Replace(text, row.old, row.new, 1)
			require.NoError(t, os.WriteFile(filepath.Join(b.dir, krewFile), []byte(text), 0o600))
			if row.more != "" {
				require.NoError(t, os.WriteFile(filepath.Join(b.dir, row.more), nil, 0o600))
			}
			seen, err := b.krewManifest(t.Context())
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "linux_amd64 windows_amd64", seen)
		})
	}
}

// archived writes an archive of a client, and returns its part of the manifest.
func archived(t *testing.T, dir, system, kind, bin string, data []byte) string {
	t.Helper()
	name := "muster-client_1.2.3_" + system + "_amd64." + kind
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	sum, err := sumFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return fmt.Sprintf("  - bin: %s\n    uri: %s/releases/download/v1.2.3/%s\n    sha256: %s\n    selector: {matchLabels: {os: %s, arch: amd64}}\n",
		bin, repository, name, sum, system)
}

func tarball(t *testing.T, mode int64) []byte {
	t.Helper()
	data, err := packed([]oci.File{{Name: "agent", Mode: mode, Data: []byte("program")}}, time.Unix(0, 0))
	require.NoError(t, err)
	return data
}

func zipped(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	header := zip.FileHeader{Name: "agent.exe"}
	header.SetMode(0o755)
	file, err := w.CreateHeader(&header)
	require.NoError(t, err)
	_, err = file.Write([]byte("program"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return text.Bytes()
}
