package kubeflow

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/page"
)

// TestThePageIsTrue checks that the example of docs/moving/convert.md converts to the YAML below
// it, and that the page shows every finding.
func TestThePageIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../docs/moving/convert.md")
	require.NoError(t, err)
	said, yaml := string(text), []string{}
	for _, b := range page.Blocks("convert.md", said) {
		if b.Language == "yaml" {
			yaml = append(yaml, b.Text)
		}
	}
	require.Len(t, yaml, 2)
	from, to := yaml[0], yaml[1]
	docs, err := Read(strings.NewReader(from))
	require.NoError(t, err)
	r := Convert(docs[0].Object, Options{})
	require.NotNil(t, r.Job)
	for _, f := range r.Findings {
		require.Contains(t, said, docs[0].ID()+": "+f.Field+": "+f.Text)
	}
	require.Equal(t, len(r.Findings), strings.Count(said, "agent: warning: "))
	got, err := YAML(r.Job)
	require.NoError(t, err)
	want, err := Read(strings.NewReader(to))
	require.NoError(t, err)
	have, err := Read(strings.NewReader(string(got)))
	require.NoError(t, err)
	require.Equal(t, want[0].Object, have[0].Object)
}
