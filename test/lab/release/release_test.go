package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// requireCode: err carries an exit code of its own.
func requireCode(t *testing.T, code int, err error) {
	t.Helper()
	var coded *codeError
	require.True(t, errors.As(err, &coded), "%v", err)
	require.Equal(t, code, coded.code)
}

func TestUsage(t *testing.T) {
	requireCode(t, exitUsage, run(t.Context(), nil))
	requireCode(t, exitUsage, run(t.Context(), []string{"ship"}))
	requireCode(t, exitUsage, run(t.Context(), []string{"sbom"}))
	requireCode(t, exitUsage, run(t.Context(), []string{"repro", "-no-such-flag"}))
}

// TestSBOM: all that the linker put into a binary is in the document, and the
// same binary gives the same document.
func TestSBOM(t *testing.T) {
	root, err := figure.Root()
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "agent")
	_, err = output(t.Context(), root, "go", "build", "-trimpath", "-o", binary, "./cmd/agent")
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), []string{"sbom", binary}))
	text, err := os.ReadFile(binary + ".cdx.json")
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), []string{"sbom", binary}))
	again, err := os.ReadFile(binary + ".cdx.json")
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))

	var doc document
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Equal(t, "agent", doc.Metadata.Component.Name)
	sum, err := sumFile(binary)
	require.NoError(t, err)
	require.Equal(t, []hash{{"SHA-256", sum}}, doc.Metadata.Component.Hashes)
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	require.NotEmpty(t, info.Deps)
	found := map[string]component{}
	for _, c := range doc.Components {
		found[c.Name] = c
		require.NotEmpty(t, c.Licenses, c.Name)
		require.Contains(t, doc.Dependencies[0].DependsOn, c.Ref)
	}
	require.Len(t, found, len(info.Deps)+1)
	require.Equal(t, info.GoVersion, "go"+found["std"].Version)
	require.Contains(t, found, "golang.org/x/sys")
	for _, m := range info.Deps {
		c := found[m.Path]
		require.Equal(t, m.Version, c.Version)
		require.Equal(t, "pkg:golang/"+m.Path+"@"+m.Version, c.PURL)
		require.Contains(t, c.Properties, property{"go:sum", m.Sum})
	}
}

func TestLicences(t *testing.T) {
	const bsd2 = "Redistribution and use in source\n and binary forms, with or without"
	const mit = "Permission is hereby granted, free of charge, to any person\ndealing in the Software without restriction"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"apache", "Apache License\n   Version 2.0, January 2004", []string{"Apache-2.0"}},
		{"two clauses", bsd2, []string{"BSD-2-Clause"}},
		{"three clauses", bsd2 + "\nNeither the name of", []string{"BSD-3-Clause"}},
		{"mit", mit, []string{"MIT"}},
		{"two licences", mit + "\nApache License Version 2.0, January 2004", []string{"Apache-2.0", "MIT"}},
		{"words", "all rights reserved", nil},
	} {
		require.Equal(t, c.want, recognise(c.text), c.name)
	}

	dir := t.TempDir()
	_, err := licences(dir, "example.com/m")
	require.EqualError(t, err, "example.com/m has no licence file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE.txt"), []byte("ask us"), 0o644))
	_, err = licences(dir, "example.com/m")
	require.EqualError(t, err, "example.com/m: LICENSE.txt is no licence that is known here")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE.txt"), []byte(mit), 0o644))
	got, err := licences(dir, "example.com/m")
	require.NoError(t, err)
	require.Len(t, got, 1)
	_, err = licences("", "example.com/m")
	require.Error(t, err)
}

// TestVulnOutOfReach: one sentence that says where to run it, and a code that
// cannot be taken for "found" or "failed".
func TestVulnOutOfReach(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, db := range []string{gone.URL, closed.URL, "file:///no/such"} {
		t.Setenv("GOVULNDB", db)
		err := run(t.Context(), []string{"vuln"})
		requireCode(t, exitNoDatabase, err)
		require.ErrorContains(t, err, "the vulnerability database "+db+" is out of reach")
		require.ErrorContains(t, err, "run this on a release machine, or set GOVULNDB to a mirror")
		require.Equal(t, 1, strings.Count(err.Error(), db))
		require.NotContains(t, err.Error(), "\n")
	}
}
