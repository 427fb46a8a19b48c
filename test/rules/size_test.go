package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	mostLines = 400 // of a file
	mostBody  = 80  // of a function
)

func root(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	return filepath.Join(dir, "..", "..")
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "out" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		if strings.HasPrefix(d.Name(), "zz_generated.") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, set.File(file.Pos()).LineCount(), mostLines, "lines of %s", path)
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line
				require.Less(t, n, mostBody, "lines of %s in %s", fn.Name.Name, path)
			}
		}
		return nil
	})
	require.NoError(t, err)
}

func TestEveryPackageHasAManual(t *testing.T) {
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "out" || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !d.IsDir() {
			return nil
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		require.NoError(t, err)
		documented := len(files) == 0
		for _, f := range files {
			file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ParseComments|parser.PackageClauseOnly)
			require.NoError(t, err)
			documented = documented || file.Doc != nil && len(file.Doc.Text()) > 40
		}
		require.True(t, documented, "%s says nowhere what it is", path)
		return nil
	})
	require.NoError(t, err)
}

// mostController is what the controller may come to: lines that it takes by hand,
// without blank ones, comments and imports. 1500 is where it is to go.
const mostController = 1750

func TestTheControllerIsThin(t *testing.T) {
	total := 0
	for _, dir := range []string{"agent/controller", "cmd/controller"} {
		files, err := filepath.Glob(filepath.Join(root(t), dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			total += codeLines(string(text))
		}
	}
	require.LessOrEqual(t, total, mostController)
	t.Logf("%d lines", total)
}

func codeLines(text string) int {
	n, imports := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "import (":
			imports = true
		case imports:
			imports = line != ")"
		case line != "" && !strings.HasPrefix(line, "//"):
			n++
		}
	}
	return n
}
