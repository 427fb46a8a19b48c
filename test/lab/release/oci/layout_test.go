package oci

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/content"
)

func TestParse(t *testing.T) {
	for name, row := range map[string]struct {
		text, err string
		want      Recipe
	}{
		"two files":    {"# words\nFROM scratch\nCOPY a b /\n\nENTRYPOINT [\"/a\"]\n", "", Recipe{Files: []string{"a", "b"}, Entrypoint: []string{"/a"}}},
		"a user":       {"FROM scratch\nCOPY a /\nUSER 1:2\nENTRYPOINT [\"/a\", \"b\"]", "", Recipe{Files: []string{"a"}, User: "1:2", Entrypoint: []string{"/a", "b"}}},
		"a base":       {"FROM debian:12\nCOPY a /\nENTRYPOINT [\"/a\"]", `line 1: a release cannot have "FROM debian:12"`, Recipe{}},
		"a command":    {"FROM scratch\nRUN make", `line 2: a release cannot have "RUN make"`, Recipe{}},
		"another dir":  {"FROM scratch\nCOPY a /bin/", `line 2: a release cannot have "COPY a /bin/"`, Recipe{}},
		"a flag":       {"FROM scratch\nCOPY --from=x a /", `line 2: a release cannot have "COPY --from=x a /"`, Recipe{}},
		"a shell line": {"FROM scratch\nCOPY a /\nENTRYPOINT /a", "line 3: ", Recipe{}},
		"nothing":      {"FROM scratch\n", "found 0 files in COPY and 0 words in ENTRYPOINT", Recipe{}},
	} {
		got, err := Parse(row.text)
		if row.err != "" {
			require.ErrorContains(t, err, row.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, row.want, got, name)
	}
}

// TestTheImagesOfTheRepository checks that Parse accepts the Dockerfiles of the released images.
func TestTheImagesOfTheRepository(t *testing.T) {
	for _, name := range []string{"agent", "controller"} {
		text, err := os.ReadFile(filepath.Join("../../../../images", name, "Dockerfile"))
		require.NoError(t, err)
		r, err := Parse(string(text))
		require.NoError(t, err)
		require.Equal(t, []string{"/" + name}, r.Entrypoint)
	}
}

var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// build makes a layout with an image for two platforms, two documents about each, and a chart.
func build(t *testing.T) (l *Layout, index ocispec.Descriptor) {
	t.Helper()
	l, err := Open(t.TempDir(), when, map[string]string{"a": "label"})
	require.NoError(t, err)
	recipe := Recipe{Files: []string{"agent", "other"}, User: "1:2", Entrypoint: []string{"/agent"}}
	var platforms []ocispec.Descriptor
	for _, arch := range []string{"amd64", "arm64"} {
		manifest, err := l.Image(t.Context(), recipe, arch, func(name string) ([]byte, error) { return []byte(name + arch), nil })
		require.NoError(t, err)
		require.NoError(t, l.Attach(t.Context(), manifest, "application/spdx+json", "agent.spdx.json", []byte("{}")))
		require.NoError(t, l.Attach(t.Context(), manifest, "application/vnd.cyclonedx+json", "agent.cdx.json", []byte("{}")))
		platforms = append(platforms, manifest)
	}
	index, err = l.Index(t.Context(), "muster-agent", "v1.0.0", platforms)
	require.NoError(t, err)
	_, err = l.Chart(t.Context(), "charts/muster", "1.0.0", []byte(`{"name": "muster"}`), []byte("packed"))
	require.NoError(t, err)
	return l, index
}

func TestImage(t *testing.T) {
	l, index := build(t)
	found, err := l.store.Resolve(t.Context(), "muster-agent:v1.0.0")
	require.NoError(t, err)
	require.Equal(t, index.Digest, found.Digest)
	platforms, err := content.Successors(t.Context(), l.store, found)
	require.NoError(t, err)
	require.Len(t, platforms, 2)
	for i, arch := range []string{"amd64", "arm64"} {
		require.Equal(t, &ocispec.Platform{OS: "linux", Architecture: arch}, platforms[i].Platform)
		parts, err := content.Successors(t.Context(), l.store, platforms[i])
		require.NoError(t, err)
		text, err := content.FetchAll(t.Context(), l.store, parts[0])
		require.NoError(t, err)
		var config ocispec.Image
		require.NoError(t, json.Unmarshal(text, &config))
		require.Equal(t, ocispec.ImageConfig{User: "1:2", Entrypoint: []string{"/agent"}, Labels: map[string]string{"a": "label"}}, config.Config)
		require.Equal(t, arch, config.Architecture)
		above, err := l.store.Predecessors(t.Context(), platforms[i])
		require.NoError(t, err)
		require.Len(t, above, 3, "the image's index, and two documents about the image")
	}
}

// TestTheSameFilesYieldTheSameBytes builds the same layout twice.
func TestTheSameFilesYieldTheSameBytes(t *testing.T) {
	one, _ := build(t)
	two, _ := build(t)
	first, err := one.Files()
	require.NoError(t, err)
	second, err := two.Files()
	require.NoError(t, err)
	require.Greater(t, len(first), 10)
	require.Equal(t, first, second)
}

func TestAMissingFileIsReported(t *testing.T) {
	l, err := Open(t.TempDir(), when, nil)
	require.NoError(t, err)
	_, err = l.Image(t.Context(), Recipe{Files: []string{"agent"}}, "arm64", func(string) ([]byte, error) { return nil, errors.New("it is gone") })
	require.EqualError(t, err, "read agent for linux/arm64: it is gone")
}

func TestParseRegistry(t *testing.T) {
	require.Equal(t, Registry{Path: "ghcr.io/musterhq"}, ParseRegistry("ghcr.io/musterhq/"))
	require.Equal(t, Registry{Path: "127.0.0.1:5000", PlainHTTP: true}, ParseRegistry("http://127.0.0.1:5000"))
	_, err := ParseRegistry("not a registry").Repository("x")
	require.ErrorContains(t, err, "use the registry not a registry")
}
