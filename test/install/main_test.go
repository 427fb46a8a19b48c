package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChart: the chart of what install.yaml holds.
func TestChart(t *testing.T) {
	text, err := os.ReadFile("../../images/install.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, write(strings.TrimPrefix(string(text), head), dir))
	for _, name := range []string{"install.yaml", "chart/templates/crd.yaml", "chart/templates/controller.yaml"} {
		want, err := os.ReadFile(filepath.Join("../../images", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
	chart, err := os.ReadFile(filepath.Join(dir, "chart/templates/controller.yaml"))
	require.NoError(t, err)
	require.NotContains(t, string(chart), "ghcr.io", "an image is not named by the values")
	require.NotContains(t, string(chart), "muster-system", "the namespace is the release's")
	require.Equal(t, 2, strings.Count(string(chart), "{{- range $namespace := .Values.namespaces }}"), "a Role and its binding")
	require.Error(t, write("kind: Pod\n", dir))
}

func TestCRDKeepsItsOwnWords(t *testing.T) {
	var out strings.Builder
	require.NoError(t, trim(strings.NewReader(`
spec: {description: a, template: {description: b, properties: {description: {description: c}, x: {items: [{description: d}]}}}, list: [{description: e}]}
`), &out))
	require.YAMLEq(t, "spec: {description: a, template: {properties: {description: {}, x: {items: [{}]}}}, list: [{description: e}]}", out.String())
	require.ErrorContains(t, trim(strings.NewReader("a: [\n"), &out), "read the CRD: ")
}
