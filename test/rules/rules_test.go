package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
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

func TestEveryPackageIsDocumented(t *testing.T) {
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
		require.True(t, documented, "%s has no package comment", path)
		return nil
	})
	require.NoError(t, err)
}

// mostController is the limit for the controller's hand-written lines, without blank lines, comments and imports.
const mostController = 2300

// TestTheControllerIsThin counts lines of the controller. If MUSTER_OUT is set, it records the counts as figures
// there.
func TestTheControllerIsThin(t *testing.T) {
	const total, longest = "hand-written lines of the controller", "lines of the controller's longest function"
	files, bodies := figure.Series{Unit: "lines", Reduce: "sum"}, figure.Series{Unit: "lines", Reduce: "max"}
	for _, dir := range []string{"agent/controller", "cmd/controller"} {
		list, err := filepath.Glob(filepath.Join(root(t), dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, list)
		for _, name := range list {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			files.Samples = append(files.Samples, float64(codeLines(string(text))))
			for _, n := range bodyLines(t, name) {
				bodies.Samples = append(bodies.Samples, float64(n))
			}
		}
	}
	sum, err := files.Value()
	require.NoError(t, err)
	t.Logf("%.0f lines", sum)
	require.LessOrEqual(t, sum, float64(mostController))
	if os.Getenv("MUSTER_OUT") == "" {
		return
	}
	dir, err := figure.Dir()
	require.NoError(t, err)
	_, err = figure.Keep(dir, "make test", "controller-lines", map[string]figure.Series{total: files, longest: bodies},
		figure.Row{Name: total, Op: "<=", Bar: mostController, Log: total}, figure.Row{Name: longest, Op: "<=", Bar: mostBody, Log: longest})
	require.NoError(t, err)
}

// bodyLines returns the length of each function of a file, in lines.
func bodyLines(t *testing.T, name string) (lengths []int) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, 0)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			lengths = append(lengths, set.Position(fn.End()).Line-set.Position(fn.Pos()).Line+1)
		}
	}
	return lengths
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

// TestDurationsAreMonotonic finds durations computed from wall-clock numbers. A time that was converted to a number
// has lost its monotonic part, so every clock step makes the duration wrong. A good link would then be given up, or
// a dead one kept.
func TestDurationsAreMonotonic(t *testing.T) {
	for _, top := range []string{"agent", "cmd", "exec", "rendezvous"} {
		err := filepath.WalkDir(filepath.Join(root(t), top), func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if n != nil && wallDuration(n) {
					t.Errorf("%s: a duration from the wall clock; keep a time.Time and use time.Since", set.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
}

// wallDuration reports whether n computes a duration from a time that was a number.
func wallDuration(n ast.Node) bool {
	unix := []string{"Unix", "UnixMilli", "UnixMicro", "UnixNano"}
	switch n := n.(type) {
	case *ast.CallExpr:
		return len(n.Args) == 1 && slices.Contains([]string{"Since", "Until", "Sub"}, called(n)) && slices.Contains(unix, called(n.Args[0]))
	case *ast.BinaryExpr:
		return n.Op == token.SUB && (slices.Contains(unix, called(n.X)) || slices.Contains(unix, called(n.Y)))
	}
	return false
}

// called returns the name of the method or function that e calls, or "".
func called(e ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok {
		if f, ok := call.Fun.(*ast.SelectorExpr); ok {
			return f.Sel.Name
		}
	}
	return ""
}

// TestNothingStraysIntoTheRoot finds files that tests left in the root: the programs that tests start write into
// their working directory.
func TestNothingStraysIntoTheRoot(t *testing.T) {
	known := []string{"agent", "bin", "cmd", "docs", "examples", "exec", "hostfile", "images", "out", "rendezvous", "test",
		"go.mod", "mkdocs.yml", "go.sum", "LICENSE", "Makefile"}
	entries, err := os.ReadDir(root(t))
	require.NoError(t, err)
	for _, e := range entries {
		name := e.Name()
		require.True(t, slices.Contains(known, name) || filepath.Ext(name) == ".md" || strings.HasPrefix(name, "."), "unexpected entry %s in the root", name)
	}
}

// TestTestsHaveFewRooms keeps the suites easy to find, and checks that each folder documents what it proves.
func TestTestsHaveFewRooms(t *testing.T) {
	const most = 12
	entries, err := os.ReadDir(filepath.Join(root(t), "test"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), most, "move code that only full suites need to test/lab, and code that suites share to test/suite")
	for _, e := range entries {
		dir := filepath.Join(root(t), "test", e.Name())
		_, doc := os.Stat(filepath.Join(dir, "doc.go"))
		_, readme := os.Stat(filepath.Join(dir, "README.md"))
		require.True(t, doc == nil || readme == nil, "test/%s has no doc.go that says what it proves and how to run it", e.Name())
	}
}
