package kubeflow

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzConvert checks that nothing panics, whatever a file contains, and that each field that the
// fuzzer adds is in the job or in a finding.
func FuzzConvert(f *testing.F) {
	for _, pattern := range []string{"testdata/pytorch.yaml", "testdata/mpi-v1alpha1.yaml", "testdata/mpi-v2beta1-intel.yaml", "testdata/tf.yaml", "testdata/trainjob.yaml", "testdata/volcano-pytorch.yaml", "testdata/refused/replicas.yaml"} {
		text, err := os.ReadFile(pattern)
		require.NoError(f, err)
		f.Add(text, "extra")
	}
	f.Fuzz(func(t *testing.T, text []byte, extra string) {
		docs, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, d := range docs {
			convertible(t, Convert(d.Object, Options{Runtimes: Runtimes(docs)}))
			spec, ok := d.Object["spec"].(map[string]any)
			if _, taken := spec[extra]; !ok || taken || !d.Known() {
				continue
			}
			spec[extra] = "walked-7"
			r := Convert(d.Object, Options{Runtimes: Runtimes(docs)})
			convertible(t, r)
			if r.Job == nil {
				continue
			}
			raw, err := YAML(r.Job)
			require.NoError(t, err)
			require.True(t, bytes.Contains(raw, []byte("walked-7")) || says(r.Findings, join("spec", extra)), "spec.%s was dropped without a finding: %v", extra, r.Findings)
		}
	})
}

// convertible requires a job without fatal findings, or findings that say why there is no job.
func convertible(t *testing.T, r Result) {
	if r.Job == nil {
		require.NotEmpty(t, r.Findings)
		return
	}
	for _, f := range r.Findings {
		require.False(t, f.Fatal, "%v", f)
		require.NotEmpty(t, f.Text)
	}
	_, err := YAML(r.Job)
	require.NoError(t, err)
}

func says(all []Finding, path string) bool {
	for _, f := range all {
		if f.Field == path || f.Field == "spec" || strings.HasPrefix(path, f.Field+".") || strings.HasPrefix(path, f.Field+"[") {
			return true
		}
	}
	return false
}
