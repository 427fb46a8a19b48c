package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHintsOfClusterTestsExist finds hints that a cluster test waits for and that no program prints. These
// tests run only on a cluster, so a reworded hint would break them days later.
func TestHintsOfClusterTestsExist(t *testing.T) {
	var printed strings.Builder
	for _, dir := range []string{"agent", "cmd", "exec", "rendezvous", "hostfile"} {
		for _, text := range literals(t, filepath.Join(root(t), dir), false) {
			printed.WriteString(text + "\n")
		}
	}
	words := regexp.MustCompile("^[-a-zA-Z',;`: ]+")
	found := 0
	for _, text := range literals(t, filepath.Join(root(t), "test/e2e"), true) {
		_, hint, is := strings.Cut(text, "hint: ")
		beginning := words.FindString(hint)
		for _, filled := range []string{"POD", "NS", "localhost", "nobody"} { // in a format
			beginning, _, _ = strings.Cut(beginning, filled)
		}
		if beginning = strings.TrimSpace(beginning[:min(len(beginning), 20)]); !is || len(beginning) < 8 {
			continue
		}
		found++
		if !strings.Contains(printed.String(), beginning) {
			t.Errorf("no program prints a hint with %q, for which test/e2e waits: %s", beginning, text)
		}
	}
	require.Greater(t, found, 30)
}

// literals returns the strings in the Go files of a folder and its subfolders: in those of tests, or in the others.
func literals(t *testing.T, dir string, tests bool) (all []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != tests {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				all = append(all, text)
			}
			return true
		})
		return nil
	}))
	return all
}
