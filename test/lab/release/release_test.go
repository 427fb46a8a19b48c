package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/spdx/tools-golang/json"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// requireCode checks the exit code of err.
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

// TestSBOM checks that the document has all data that the linker put into a binary, and that the
// same binary yields the same document.
func TestSBOM(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, program.Own(dir, nil, "agent"))
	binary := filepath.Join(dir, "agent")
	require.NoError(t, run(t.Context(), []string{"sbom", binary}))
	text, err := os.ReadFile(binary + ".cdx.json")
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), []string{"sbom", binary}))
	again, err := os.ReadFile(binary + ".cdx.json")
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))

	other, err := os.Open(binary + ".spdx.json")
	require.NoError(t, err)
	defer other.Close()
	packages, err := json.Read(other)
	require.NoError(t, err)

	var doc cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&doc))
	require.Equal(t, "agent", doc.Metadata.Component.Name)
	sum, err := sumFile(binary)
	require.NoError(t, err)
	require.Equal(t, []cyclonedx.Hash{{Algorithm: "SHA-256", Value: sum}}, *doc.Metadata.Component.Hashes)
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	require.NotEmpty(t, info.Deps)
	found := map[string]cyclonedx.Component{}
	for _, c := range *doc.Components {
		found[c.Name] = c
		require.NotEmpty(t, *c.Licenses, c.Name)
		require.Contains(t, *(*doc.Dependencies)[0].Dependencies, c.BOMRef)
	}
	require.Len(t, found, len(info.Deps)+1)
	require.Len(t, packages.Packages, len(found)+1, "SPDX has the program among its packages")
	for _, p := range packages.Packages[1:] {
		require.Equal(t, found[p.PackageName].PackageURL, p.PackageExternalReferences[0].Locator)
		require.NotEmpty(t, p.PackageLicenseDeclared, p.PackageName)
	}
	require.Equal(t, info.GoVersion, "go"+found["std"].Version)
	require.Contains(t, found, "golang.org/x/sys")
	for _, m := range info.Deps {
		c := found[m.Path]
		require.Equal(t, m.Version, c.Version)
		require.Equal(t, "pkg:golang/"+m.Path+"@"+m.Version, c.PackageURL)
		require.Contains(t, *c.Properties, cyclonedx.Property{Name: "go:sum", Value: m.Sum})
	}
}

func TestLicenses(t *testing.T) {
	const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`
	root, err := figure.Root()
	require.NoError(t, err)
	apache, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	require.NoError(t, err)
	goroot, err := output(t.Context(), root, "go", "env", "GOROOT")
	require.NoError(t, err)
	bsd3, err := os.ReadFile(filepath.Join(strings.TrimSpace(goroot), "LICENSE"))
	require.NoError(t, err)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"apache", string(apache), []string{"Apache-2.0"}},
		{"two clauses", regexp.MustCompile(`(?s)   \* Neither the name.*?permission\.\n`).ReplaceAllString(string(bsd3), ""), []string{"BSD-2-Clause"}},
		{"three clauses", string(bsd3), []string{"BSD-3-Clause"}},
		{"mit", mit, []string{"MIT"}},
		{"two licenses", mit + string(apache), []string{"Apache-2.0", "MIT"}},
		{"words", "all rights reserved", nil},
	} {
		require.Equal(t, c.want, recognize([]byte(c.text)), c.name)
	}

	dir := t.TempDir()
	_, err = licensesOf(dir, "example.com/m")
	require.EqualError(t, err, "example.com/m has no license file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE.txt"), []byte("ask us"), 0o644))
	_, err = licensesOf(dir, "example.com/m")
	require.EqualError(t, err, "example.com/m: LICENSE.txt is not a known license")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE.txt"), []byte(mit), 0o644))
	got, err := licensesOf(dir, "example.com/m")
	require.NoError(t, err)
	require.Len(t, *got, 1)
	_, err = licensesOf("", "example.com/m")
	require.Error(t, err)
}

// TestVulnOutOfReach checks that the error says where to run the command, and that its exit code
// differs from those for vulnerabilities and failures.
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
