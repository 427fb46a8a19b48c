package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A time of the wall clock that went through a number has lost its monotonic part.
// A duration from it is wrong by every step of the clock meanwhile: a link would be
// given up, or a dead one kept.
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
					t.Errorf("%s: a duration by the wall clock; keep a time.Time, or time.Since of one", set.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
}

// wallDuration reports whether n makes a duration out of a time that was a number.
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
