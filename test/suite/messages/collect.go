package messages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Message is one error or warning that the program can print.
type Message struct {
	Text string // with … for each part that is filled in
	At   string // file:line, below the repository
}

// formats has the index of the text among the arguments of each function that makes a message. A name
// after a dot is that of a method or of a function of any package.
func formats() map[string]int {
	return map[string]int{
		"fmt.Errorf": 0, "errors.New": 0, "failure.Usage": 1, "failure.New": 2, ".Warn": 0, ".Error": 0,
		// agent/failure itself, agent/progress, agent/kubeflow, exec/session and agent/serve.
		"Usage": 1, "New": 2, "wrong": 1, ".fatal": 1, ".warn": 1, ".refuse": 1, ".unchanged": 1,
		".mention": 1, ".note": 0,
	}
}

// literals has the index of the text among the values of each type that is a message.
func literals() map[string]int {
	return map[string]int{"obstacle": 1, "errLost": 0} // agent/controller, agent/jobs
}

// Collect returns the messages of the product in the repository at root, in the order of their files.
// Messages that only name the step that failed, as in `read …: …`, are left out: what follows the colon is
// a message of its own, or one of the operating system or the API server.
func Collect(root string) ([]Message, error) {
	var all []Message
	for _, dir := range []string{"cmd", "agent", "exec", "rendezvous", "hostfile"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			found, err := ofFile(root, path)
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("collect messages: %w", err)
		}
	}
	return all, nil
}

// ofFile returns the messages of one file.
func ofFile(root, path string) ([]Message, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	var all []Message
	add := func(text string, at token.Pos, whole bool) {
		if text = Pattern(text); whole || !step(text) {
			all = append(all, Message{text, fmt.Sprintf("%s:%d", name, set.Position(at).Line)})
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if text := ruleMessage.FindStringSubmatch(c.Text); text != nil {
				add(text[1], c.Pos(), true)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if e := textOf(n); e != nil {
			if text, ok := constant(e); ok {
				_, whole := n.(*ast.CompositeLit)
				add(text, n.Pos(), whole && text != "")
			}
		}
		return true
	})
	return all, nil
}

// ruleMessage finds what the API server says when an object breaks a rule of the CRD.
var ruleMessage = regexp.MustCompile(`^//\s*\+kubebuilder:validation:.*message="([^"]*)"`)

// textOf returns the text of a call or a literal that makes a message, or nil.
func textOf(n ast.Node) ast.Expr {
	var values []ast.Expr
	var at int
	var ok bool
	switch n := n.(type) {
	case *ast.CallExpr:
		values = n.Args
		at, ok = textAt(n.Fun)
	case *ast.CompositeLit:
		values = n.Elts
		if of, named := n.Type.(*ast.Ident); named {
			at, ok = literals()[of.Name]
		}
	}
	if !ok || at >= len(values) {
		return nil
	}
	return values[at]
}

// textAt returns the index of the text among the arguments of a call of f.
func textAt(f ast.Expr) (int, bool) {
	var names []string
	switch f := f.(type) {
	case *ast.Ident:
		names = []string{f.Name}
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok {
			names = append(names, of.Name+"."+f.Sel.Name)
		}
		names = append(names, "."+f.Sel.Name)
	}
	for _, name := range names {
		if at, ok := formats()[name]; ok {
			return at, true
		}
	}
	return 0, false
}

// constant returns the value of a string literal, of several that are added, or the format of a
// fmt.Sprintf. It has … for an added value that is not constant.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, okX := constant(e.X)
		y, okY := constant(e.Y)
		if !okX {
			x = "…"
		}
		if !okY {
			y = "…"
		}
		return x + y, (okX || okY) && e.Op == token.ADD
	case *ast.CallExpr:
		if of, ok := e.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "Sprintf" && len(e.Args) > 0 {
			return constant(e.Args[0])
		}
	case *ast.ParenExpr:
		return constant(e.X)
	}
	return "", false
}

// verb is one of fmt's.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[\d.*]*[a-zA-Z]`)

// Pattern returns a text of fmt with … for each verb.
func Pattern(format string) string {
	text := verb.ReplaceAllString(strings.ReplaceAll(format, "%%", "\x00"), "…")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\x00", "%")), " ")
}

// step reports whether a message says only which step failed, or is made of its parts alone.
func step(text string) bool {
	if strings.HasPrefix(text, "unknown ") {
		return false
	}
	words := func(s string) int {
		return len(slices.DeleteFunc(strings.Fields(s), func(w string) bool { return !strings.ContainsFunc(w, letter) }))
	}
	return strings.HasSuffix(text, ": …") || words(text) < 2
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
