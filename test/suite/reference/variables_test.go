package reference

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/variables"
)

// TestVariablesHasEachVariableOfThePrograms reads the page itself. Variables of tests belong to
// CONTRIBUTING.md.
func TestVariablesHasEachVariableOfThePrograms(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/variables.md")
	require.NoError(t, err)
	page := string(text)
	for _, name := range names.TestVariables() {
		require.NotContains(t, page, "`"+name+"`")
	}
	ofSettings := map[string]bool{}
	for s := range settings.All() {
		ofSettings[settings.Variable(s.Name)] = true
	}
	for _, name := range settings.Known() {
		test := slices.Contains(names.TestVariables(), name)
		require.True(t, test || ofSettings[name] || strings.Contains(page, "`"+name+"`"), "%s is not on the page", name)
	}
	source, err := variables.Collect("../../..")
	require.NoError(t, err)
	for name, in := range source.Reads {
		shell := slices.Equal(in, []string{"exec/shell"}) // a shell's own variables
		require.True(t, shell || strings.Contains(page, "`"+name+"`"), "%s is not on the page", name)
	}
}

func TestAVariableWithoutARowIsAnError(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"agent", "cmd", "exec", "hostfile", "rendezvous"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "exec/a.go"), []byte("package a\n\nimport \"os\"\n\nvar x = os.Getenv(\"NEW_VARIABLE\")\n"), 0o600))
	reads := variablesParts(root)[0]
	require.Equal(t, "reads", reads.mark)
	_, err := reads.body()
	require.ErrorContains(t, err, `NEW_VARIABLE is read in ["exec"], and the table has []`)
}
