package framework_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

// TestExported checks that the list has every variable that a framework sets, and no other.
func TestExported(t *testing.T) {
	list := framework.Exported()
	each(t, func(t *testing.T, _ framework.Cluster, l framework.Launch) {
		for _, p := range l.Processes {
			for _, v := range p.Env {
				require.True(t, slices.Contains(list, v.Name), "%s is not in Exported", v.Name)
			}
		}
	})
	var source strings.Builder
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "exported.go" {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		source.Write(text)
	}
	for i, name := range list {
		require.NotContains(t, list[:i], name)
		require.False(t, framework.LooksSecret(name), name)
		require.Contains(t, source.String(), `Name: "`+name+`"`, "nothing sets %s", name)
	}
}
