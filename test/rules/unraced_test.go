package rules

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnracedTestsRun checks that make unit plays each test that the race detector does not see.
func TestUnracedTestsRun(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	require.NoError(t, err)
	value := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + ` *:= (.*)$`).FindSubmatch(text)
		require.NotNil(t, found, "the Makefile has no %s", name)
		return string(found[1])
	}
	played := regexp.MustCompile(strings.ReplaceAll(value("UNRACED_TESTS"), "$$", "$"))
	tests := unraced(t)
	require.NotEmpty(t, tests)
	require.Equal(t, strings.Fields(value("UNRACED")), slices.Sorted(maps.Keys(tests)), "folders with files that have the constraint !race")
	for dir, names := range tests {
		for _, name := range names {
			require.Regexp(t, played, name, "make unit does not play a test of %s", dir)
		}
	}
}

// unraced returns the tests of files with the constraint !race, by folder.
func unraced(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	for _, top := range []string{"agent", "cmd", "exec", "hostfile", "rendezvous", "test"} {
		err := filepath.WalkDir(filepath.Join(root(t), top), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			if !withoutRace(file) {
				return nil
			}
			dir, err := filepath.Rel(root(t), filepath.Dir(path))
			require.NoError(t, err)
			for _, decl := range file.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
					tests[dir] = append(tests[dir], fn.Name.Name)
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	return tests
}

// withoutRace reports whether a file is left out under the race detector.
func withoutRace(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, line := range group.List {
			if group.Pos() > file.Package || !constraint.IsGoBuild(line.Text) {
				continue
			}
			expr, err := constraint.Parse(line.Text)
			return err == nil && strings.Contains(expr.String(), "!race")
		}
	}
	return false
}
