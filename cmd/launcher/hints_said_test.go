//go:build linux

package main

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// sighted collects the hints that the mistakes print.
type sighted struct {
	mu    sync.Mutex
	hints []string
}

func (s *sighted) add(hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hints = append(s.hints, hint)
}

// lacks reports an error for each hint in the source that names one of our flags or verbs and that
// no mistake printed. Hints that need more than a command line are in testdata/hints/elsewhere,
// with the test that follows them.
func (s *sighted) lacks(t *testing.T) {
	elsewhere := followedElsewhere(t)
	for _, root := range []string{"..", "../../agent", "../../exec", "../../rendezvous", "../../hostfile"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			for _, hint := range hintsIn(file) {
				text, _ := strconv.Unquote(hint.Value)
				fragment := longest(text)
				if len(named(text)) == 0 || len(fragment) < 10 { // part of a hint, as in "-c " + container
					continue
				}
				within := func(hint string) bool { return strings.Contains(hint, fragment) }
				if !slices.ContainsFunc(s.hints, within) && !slices.ContainsFunc(elsewhere, func(e string) bool { return strings.Contains(text, e) }) {
					t.Errorf("%s: no line of testdata/hints causes and follows this hint: %s", set.Position(hint.Pos()), text)
				}
			}
			return nil
		}))
	}
}

// longest returns the longest literal part of a format string.
func longest(format string) (part string) {
	for _, p := range strings.Split(format, "%") {
		if p = strings.TrimLeft(p, "dsqv"); len(p) > len(part) {
			part = p
		}
	}
	return strings.TrimSpace(part)
}

// followedElsewhere returns the hints of testdata/hints/elsewhere. Each line is "TEXT: TEST", and
// the test must exist.
func followedElsewhere(t *testing.T) (texts []string) {
	file, err := os.Open("testdata/hints/elsewhere")
	require.NoError(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		at := strings.LastIndex(lines.Text(), ": ")
		if at < 0 {
			continue
		}
		text, test := lines.Text()[:at], lines.Text()[at+2:]
		if strings.HasSuffix(test, ".txtar") {
			require.FileExists(t, "testdata/jobs/"+test)
			texts = append(texts, text)
			continue
		}
		out, err := osexec.Command("grep", "-rlE", "--include=*_test.go", `^func `+test+`\b`, "../..").Output()
		require.NoError(t, err, "%s: test %s does not exist", text, test)
		require.NotEmpty(t, out)
		texts = append(texts, text)
	}
	return texts
}

// hintsIn returns the string literals of a file that are used in hints.
func hintsIn(file *ast.File) (found []*ast.BasicLit) {
	collect := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				found = append(found, text)
			}
			return true
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if at, ok := hintArgument[called(n.Fun)]; ok && at < len(n.Args) {
				collect(n.Args[at])
			}
		case *ast.KeyValueExpr:
			if holdsHint[called(n.Key)] {
				collect(n.Value)
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if holdsHint[called(to)] && i < len(n.Rhs) {
					collect(n.Rhs[i])
				}
			}
		case *ast.FuncDecl:
			if strings.HasSuffix(n.Name.Name, "Hint") || n.Name.Name == "advice" {
				collect(n.Body)
			}
		}
		return true
	})
	slices.SortFunc(found, func(a, b *ast.BasicLit) int { return int(a.Pos() - b.Pos()) })
	return slices.Compact(found)
}

var (
	// hintArgument maps a function to the position of the hint among its arguments.
	hintArgument = map[string]int{"usage": 0, "Usage": 0, "Hint": 0, "fail": 1, "New": 1, "complainWith": 1}
	// holdsHint lists the fields and variables that hold a hint.
	holdsHint = map[string]bool{"hint": true, "Hint": true, "Hints": true, "way": true, "Way": true, "tip": true}
)

// called returns the last name of an expression, or "".
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
