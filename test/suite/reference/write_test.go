package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPagesMatchTheProgram(t *testing.T) {
	const root = "../../.."
	for _, p := range parts(root) {
		t.Run(p.page+" "+p.mark, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join(root, p.page))
			require.NoError(t, err)
			body, err := p.body()
			require.NoError(t, err)
			require.True(t, strings.Contains(string(page), body), "%s is stale: run make generate", p.page)
		})
	}
}

func TestMissingDescriptionIsAnError(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	write("bare.go", "package x\nconst (\n\t// Said.\n\tA = \"a\"\n\tB = \"b\" // beside\n)\n")
	_, err := group{"bare.go", []string{""}}.table(root, "word")
	require.ErrorContains(t, err, "constant B has no comment above it that describes b")
	_, err = group{"bare.go", []string{"C"}}.table(root, "word")
	require.ErrorContains(t, err, "no constant")
	table, err := group{"bare.go", []string{"A"}}.table(root, "word")
	require.NoError(t, err)
	require.Equal(t, "| word | meaning |\n|---|---|\n| `a` | Said. |\n", table)

	crd := func(description string) string {
		return "spec:\n  versions:\n  - schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n" +
			"            required: [a]\n            properties:\n              a: {type: integer, minimum: 1" + description + "}\n"
	}
	write("crd.yaml", crd(""))
	_, err = LaunchJob(filepath.Join(root, "crd.yaml"), "spec")
	require.ErrorContains(t, err, "without a description: spec.a")
	write("crd.yaml", crd(", description: How many."))
	table, err = LaunchJob(filepath.Join(root, "crd.yaml"), "spec")
	require.NoError(t, err)
	require.Contains(t, table, "| `spec.a` | integer | required | at least 1 | How many. |\n")
}

// literal matches a reason that is written as a literal where it is used.
var literal = regexp.MustCompile(`(?:obstacle\{|\bCode: *|rendezvous\.Code\()"`)

// TestEveryReasonIsAConstant finds literal reasons, which would be on no page.
func TestEveryReasonIsAConstant(t *testing.T) {
	for _, name := range []string{"agent/controller", "agent/launch/fleet", "rendezvous"} {
		files, err := filepath.Glob(filepath.Join("../../..", name, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotRegexp(t, literal, string(text), file)
		}
	}
}
