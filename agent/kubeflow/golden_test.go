package kubeflow

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden converts every manifest of testdata and compares the result with the golden file.
func TestGolden(t *testing.T) {
	for _, file := range manifests(t, "testdata/*.yaml") {
		t.Run(file, func(t *testing.T) {
			text := golden(t, file)
			require.NotContains(t, text, "# error", "the manifest must be converted")
			hold(t, file, text)
		})
	}
}

// TestRefused checks that none of these manifests is converted, and that each has a finding with
// the reason.
func TestRefused(t *testing.T) {
	for _, file := range manifests(t, "testdata/refused/*.yaml") {
		t.Run(file, func(t *testing.T) {
			text := golden(t, file)
			require.NotContains(t, text, "kind: LaunchJob")
			require.Contains(t, text, "# error")
			hold(t, file, text)
		})
	}
}

// hold compares the result with the golden file, or writes the golden file.
func hold(t *testing.T, file, got string) {
	t.Helper()
	want := strings.TrimSuffix(file, ".yaml") + ".golden"
	if *update {
		require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
	}
	text, err := os.ReadFile(want)
	require.NoError(t, err)
	require.Equal(t, string(text), got)
}

func manifests(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// documents reads the documents of a file.
func documents(t *testing.T, file string) []Document {
	t.Helper()
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	docs, err := Read(in)
	require.NoError(t, err)
	return docs
}

// converted holds a job of testdata and its conversion.
type converted struct {
	file string
	all  []Document // of the file
	Document
	Result
}

// everything returns the jobs of testdata, which can all be converted.
func everything(t *testing.T) (list []converted) {
	t.Helper()
	for _, file := range manifests(t, "testdata/*.yaml") {
		docs := documents(t, file)
		for _, d := range docs {
			if !d.Known() {
				continue
			}
			r := Convert(d.Object, Options{Runtimes: Runtimes(docs)})
			require.NotNil(t, r.Job, "%s: %v", file, r.Findings)
			list = append(list, converted{file, docs, d, r})
		}
	}
	return list
}

// golden returns the result for a file: findings as comments, LaunchJobs below.
func golden(t *testing.T, file string) string {
	t.Helper()
	var out strings.Builder
	docs := documents(t, file)
	for _, d := range docs {
		if !d.Known() && !d.Foreign() {
			continue
		}
		r := Convert(d.Object, Options{Runtimes: Runtimes(docs)})
		for _, f := range r.Findings {
			out.WriteString("# " + line(f) + "\n")
		}
		if r.Job != nil {
			raw, err := YAML(r.Job)
			require.NoError(t, err)
			out.Write(raw)
		}
	}
	return out.String()
}

func line(f Finding) string {
	word := "warning"
	switch {
	case f.Fatal:
		word = "error"
	case f.Note:
		word = "note"
	}
	text := word + ": " + f.Field + ": " + f.Text
	if f.Way != "" {
		text += "; hint: " + f.Way
	}
	return text
}
