package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

func TestInvalidVersionsAreRejected(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "v1", "v1.2", "v01.2.3", "v1.2.3 ", "v1.2.3-", "v1.2.3-5", "v1.2.3-rc1", "v1.2.3-rc.01", "main"} {
		err := run(t.Context(), []string{"dist", "-version", version})
		requireCode(t, exitUsage, err)
		require.ErrorContains(t, err, "give a version such as v0.1.0")
	}
	for _, version := range []string{"v0.1.0", "v10.20.30", "v1.2.3-rc.1", "v1.2.3-alpha.0"} {
		require.True(t, versionPattern.MatchString(version), version)
	}
}

func TestThePythonPackageHasTheVersionThatPythonKnows(t *testing.T) {
	for number, want := range map[string]string{"0.1.0": "0.1.0", "1.2.3-rc.1": "1.2.3rc1", "1.2.3-beta.10": "1.2.3b10", "1.2.3-alpha.0": "1.2.3a0"} {
		require.Equal(t, "muster_jobs-"+want+"-py3-none-any.whl", wheelName(number))
	}
}

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\nwords\n\n## [Unreleased]\n- new\n\n## [0.2.0] - 2026-01-02\n### Added\n- more\n\n## [0.1.0] - 2026-01-01\n- first\n\n[0.1.0]: https://example.com\n"
	for name, row := range map[string]struct {
		version, want, err string
		trial              bool
	}{
		"a release":                {version: "v0.2.0", want: "### Added\n- more"},
		"the last section":         {version: "v0.1.0", want: "- first"},
		"a trial of a new version": {version: "v0.3.0", trial: true, want: "- new"},
		"a trial of a release":     {version: "v0.1.0", trial: true, want: "- first"},
		"a release without notes":  {version: "v0.3.0", err: "CHANGELOG.md has no section ## [0.3.0]"},
		"half a version":           {version: "v0.1", err: "CHANGELOG.md has no section ## [0.1]"},
	} {
		got, err := notes(changelog, row.version, row.trial)
		if row.err != "" {
			require.EqualError(t, err, row.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, row.want, got, name)
	}
}

// TestPins checks that a release's manifests, which are made from the repository's manifests, name only the release's images.
func TestPins(t *testing.T) {
	root, err := figure.Root()
	require.NoError(t, err)
	p := pins{registry: "registry.example.com/m", tag: "v1.2.3", digests: map[string]string{
		"agent": "sha256:" + strings.Repeat("a", 64), "controller": "sha256:" + strings.Repeat("c", 64)}}
	text, err := os.ReadFile(filepath.Join(root, "images/install.yaml"))
	require.NoError(t, err)
	install, err := p.install(string(text))
	require.NoError(t, err)
	require.NotContains(t, install, sourceRegistry)
	require.Equal(t, 2, strings.Count(install, p.ref("agent")), "the init container, and the controller's setting for jobs")
	require.Equal(t, 1, strings.Count(install, p.ref("controller")))

	images := filepath.Join(root, "images")
	dir := t.TempDir()
	data, err := p.kustomize(images, time.Unix(0, 0))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.tar.gz"), data, 0o600))
	require.NoError(t, unpack(filepath.Join(dir, "k.tar.gz"), dir))
	overlay, err := os.ReadFile(filepath.Join(dir, "muster-kustomize/deploy/kustomization.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(overlay), "newName: registry.example.com/m/muster-agent\n    digest: "+p.digests["agent"])
	require.NotContains(t, string(overlay), "newTag: ")
	require.FileExists(t, filepath.Join(dir, "muster-kustomize/chart/files/crd/crd.yaml"))

	data, meta, err := p.chart(filepath.Join(images, "chart"), time.Unix(0, 0))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c.tgz"), data, 0o600))
	require.NoError(t, unpack(filepath.Join(dir, "c.tgz"), dir))
	var chart struct {
		Name, Version, AppVersion string
		Annotations               map[string]string
	}
	require.NoError(t, json.Unmarshal(meta, &chart))
	require.Equal(t, "muster 1.2.3 v1.2.3", chart.Name+" "+chart.Version+" "+chart.AppVersion)
	require.Contains(t, chart.Annotations["artifacthub.io/images"], p.ref("agent"))
	values, err := os.ReadFile(filepath.Join(dir, "muster/values.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(values), p.digests["agent"])
	require.NotContains(t, string(values), sourceRegistry)

	_, err = p.install("nothing")
	require.ErrorContains(t, err, `"ghcr.io/musterhq/muster-agent:dev" not found`)
}

func TestProvenance(t *testing.T) {
	text, err := prove(origin{version: "v1.2.3", commit: "0123", registry: "example.com", goVersion: "go1.26", builder: "https://example.com/builder", run: "https://example.com/run/1"},
		"aa  one.tar.gz\nbb  install.yaml\n", []subject{{Name: "example.com/muster-agent", Digest: map[string]string{"sha256": "cc"}}})
	require.NoError(t, err)
	var s statement
	require.NoError(t, json.Unmarshal(text, &s))
	require.Equal(t, []subject{
		{Name: "example.com/muster-agent", Digest: map[string]string{"sha256": "cc"}},
		{Name: "one.tar.gz", Digest: map[string]string{"sha256": "aa"}},
		{Name: "install.yaml", Digest: map[string]string{"sha256": "bb"}},
	}, s.Subject)
	require.Equal(t, map[string]string{"gitCommit": "0123"}, s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest)
	require.Equal(t, "https://example.com/run/1", s.Predicate.RunDetails.Metadata["invocationId"])
	_, err = prove(origin{}, "one.tar.gz", nil)
	require.EqualError(t, err, `read the checksums: "one.tar.gz"`)
}
