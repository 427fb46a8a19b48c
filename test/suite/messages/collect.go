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
		// agent/failure itself, agent/progress, agent/kubeflow and exec/session.
		"Usage": 1, "New": 2, "wrong": 1, ".fatal": 1, ".warn": 1, ".refuse": 1,
		// agent/join.
		"usage": 1,
	}
}

// fields has the field with the text of each struct that is a message. In a literal without names it is the
// first one.
func fields() map[string]string {
	return map[string]string{
		"hinted": "text", "sentence": "text", // exec/rsh
		"Refusal": "Text", "Order": "Why", // rendezvous/barrier
		"Reason": "Sentence", // rendezvous
	}
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
	add := func(texts []string, at token.Pos) {
		for _, text := range texts {
			all = append(all, Message{Pattern(text), fmt.Sprintf("%s:%d", name, set.Position(at).Line)})
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if text := ruleMessage.FindStringSubmatch(c.Text); text != nil {
				add([]string{text[1]}, c.Pos())
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			add(ofCall(n), n.Pos())
		case *ast.CompositeLit:
			add(ofStruct(n), n.Pos())
		case *ast.AssignStmt:
			if nameOf(n.Lhs[0]) == "Sentence" && n.Tok == token.ASSIGN && len(n.Rhs) == 1 {
				add(joined(n.Rhs[0]), n.Pos())
			}
		case *ast.FuncDecl:
			for _, r := range returned(n) {
				add(joined(r), r.Pos())
			}
		}
		return true
	})
	return all, nil
}

// ruleMessage finds what the API server says when an object breaks a rule of the CRD.
var ruleMessage = regexp.MustCompile(`^//\s*\+kubebuilder:validation:.*message="([^"]*)"`)

// ofCall returns the text of a call that makes a message.
func ofCall(call *ast.CallExpr) []string {
	at, ok := textAt(call.Fun)
	if !ok || at >= len(call.Args) {
		return nil
	}
	text, ok := constant(call.Args[at])
	if !ok {
		text, ok = sprintf(call.Args[at])
	}
	if !ok || step(Pattern(text)) {
		return nil
	}
	return []string{text}
}

// ofStruct returns the text of a struct that is a message.
func ofStruct(lit *ast.CompositeLit) []string {
	field, ok := fields()[nameOf(lit.Type)]
	if !ok {
		return nil
	}
	for _, e := range lit.Elts {
		pair, named := e.(*ast.KeyValueExpr)
		if !named {
			return joined(e) // the first field
		}
		if nameOf(pair.Key) == field {
			return joined(pair.Value)
		}
	}
	return nil
}

// nameOf returns the name of a type or field, without its package or pointer.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return nameOf(e.X)
	}
	return ""
}

// returned returns what a method returns whose result is a message: Error of each type, and Sentence of the
// types that say why a run failed.
func returned(f *ast.FuncDecl) []ast.Expr {
	if f.Recv == nil || f.Body == nil {
		return nil
	}
	of := nameOf(f.Recv.List[0].Type)
	if f.Name.Name != "Error" && (f.Name.Name != "Sentence" || of != "Failure" && of != "Verdict") {
		return nil
	}
	var all []ast.Expr
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			all = append(all, r.Results[0])
		}
		return true
	})
	return all
}

// joined returns the text of an expression, with a verb for each part that is not constant. It returns nothing
// for fewer than three constant words, which are no message by themselves.
func joined(e ast.Expr) []string {
	text := parts(e)
	if wordsOf(text) < 3 {
		return nil
	}
	return []string{text}
}

func parts(e ast.Expr) string {
	if text, ok := sprintf(e); ok {
		return text
	}
	if text, ok := constant(e); ok {
		return strings.ReplaceAll(text, "%", "%%")
	}
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		return parts(sum.X) + parts(sum.Y)
	}
	return "%v"
}

// sprintf returns the format of a call of fmt.Sprintf.
func sprintf(e ast.Expr) (string, bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 || nameOf(call.Fun) != "Sprintf" {
		return "", false
	}
	return constant(call.Args[0])
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

// constant returns the value of a string literal, or of several that are added.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, okX := constant(e.X)
		y, okY := constant(e.Y)
		return x + y, okX && okY && e.Op == token.ADD
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
	return strings.HasSuffix(text, ": …") || wordsOf(text) < 2
}

// wordsOf counts the words of a text. Verbs are none.
func wordsOf(text string) int {
	words := strings.Fields(Pattern(text))
	return len(slices.DeleteFunc(words, func(w string) bool { return !strings.ContainsFunc(w, letter) }))
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
