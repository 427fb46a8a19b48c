package kubeflow

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden converts every manifest of testdata; beside it lies what comes out.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			got := golden(t, file)
			want := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
			}
			text, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(text), got)
		})
	}
}

// golden is what becomes of a file: findings as comments, LaunchJobs below.
func golden(t *testing.T, file string) string {
	t.Helper()
	var out strings.Builder
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, yaml.Unmarshal(raw, &object))
	r := Convert(object, Options{})
	for _, f := range r.Findings {
		out.WriteString("# " + line(f) + "\n")
	}
	if r.Job != nil {
		raw, err := yaml.Marshal(r.Job)
		require.NoError(t, err)
		out.Write(raw)
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
