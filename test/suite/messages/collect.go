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
	// Optional means that the catalog may list the message, but need not. The message reports progress, is part of
	// a sentence that is composed elsewhere, or only names the step that failed, as in `read …: …`. The text after
	// the colon is a message of its own, or one of the operating system or the API server.
	Optional bool
}

// formats has the index of the text among the arguments of each function that makes a message. A name after a dot
// is a method, or a function of any package.
func formats() map[string]int {
	return map[string]int{
		"fmt.Errorf": 0, "errors.New": 0, "failure.Usage": 1, "failure.New": 2, ".Warn": 0, ".Error": 0,
		// agent/failure itself, agent/progress, agent/kubeflow, exec/session, agent/serve and agent/join.
		"Usage": 1, "New": 2, "wrong": 1, ".fatal": 1, ".warn": 1, ".refuse": 1, ".unchanged": 1,
		".mention": 1, ".note": 0, "usage": 1,
	}
}

// sentences has the index of the text among the arguments of each function that makes an optional message.
func sentences() map[string]int { return map[string]int{".Say": 0, ".say": 0, "fmt.Sprintf": 0} }

// fields has the field with the text of each struct that is a message, and its index in a literal without field
// names.
func fields() map[string]field {
	return map[string]field{
		"hinted": {"text", 0}, "sentence": {"text", 0}, // exec/rsh
		"Refusal": {"Text", 0}, "Order": {"Why", 0}, // rendezvous/barrier
		"Reason":   {"Sentence", 0},             // rendezvous
		"obstacle": {"", 1}, "errLost": {"", 0}, // agent/controller, agent/jobs
		"Obstacle": {"Message", 1}, // agent/controller/queue
	}
}

type field struct {
	name string
	at   int
}

// Collect returns the messages of the product in the repository at root, in the order of their files.
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
	add := func(text string, at token.Pos, optional bool) {
		if text = Pattern(text); text != "" {
			all = append(all, Message{text, fmt.Sprintf("%s:%d", name, set.Position(at).Line), optional})
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if text := ruleMessage.FindStringSubmatch(c.Text); text != nil {
				add(text[1], c.Pos(), false)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			text, optional := ofCall(n)
			add(text, n.Pos(), optional)
		case *ast.CompositeLit:
			add(ofStruct(n), n.Pos(), false)
		case *ast.AssignStmt:
			if nameOf(n.Lhs[0]) == "Sentence" && n.Tok == token.ASSIGN && len(n.Rhs) == 1 {
				add(sentence(n.Rhs[0]), n.Pos(), false)
			}
		case *ast.FuncDecl:
			for _, r := range returned(n) {
				add(sentence(r), r.Pos(), false)
			}
		}
		return true
	})
	return all, nil
}

// ruleMessage matches the message that the API server sends when an object breaks a rule of the CRD.
var ruleMessage = regexp.MustCompile(`^//\s*\+kubebuilder:validation:.*message="([^"]*)"`)

// ofCall returns the text of a call that makes a message, or "".
func ofCall(call *ast.CallExpr) (text string, optional bool) {
	at, required := textAt(call.Fun, formats())
	if !required {
		at, optional = textAt(call.Fun, sentences())
	}
	if !required && !optional || at >= len(call.Args) {
		return "", false
	}
	text, _ = textOf(call.Args[at])
	return text, optional || step(Pattern(text))
}

// ofStruct returns the text of a struct that is a message, or "".
func ofStruct(lit *ast.CompositeLit) string {
	f, ok := fields()[nameOf(lit.Type)]
	if !ok {
		return ""
	}
	for i, e := range lit.Elts {
		pair, named := e.(*ast.KeyValueExpr)
		if !named && i == f.at {
			return sentence(e)
		}
		if named && nameOf(pair.Key) == f.name {
			return sentence(pair.Value)
		}
	}
	return ""
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

// returned returns the results of a method whose result is a message: Error of each type, and Sentence of the types
// that describe why a run failed.
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

// textAt returns the index of the text among the arguments of a call of f, if f is in known.
func textAt(f ast.Expr, known map[string]int) (int, bool) {
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
		if at, ok := known[name]; ok {
			return at, true
		}
	}
	return 0, false
}

// sentence returns the text of an expression, or "" if it has fewer than three words, which are not a message by
// themselves.
func sentence(e ast.Expr) string {
	text, _ := textOf(e)
	if words(Pattern(text)) < 3 {
		return ""
	}
	return text
}

// textOf returns the value of a string literal, of several literals that are added, or the format of a fmt.Sprintf.
// An added value that is not constant becomes ….
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, okX := textOf(e.X)
		y, okY := textOf(e.Y)
		if !okX {
			x = "…"
		}
		if !okY {
			y = "…"
		}
		return x + y, (okX || okY) && e.Op == token.ADD
	case *ast.CallExpr:
		if nameOf(e.Fun) == "Sprintf" && len(e.Args) > 0 {
			return textOf(e.Args[0])
		}
	case *ast.ParenExpr:
		return textOf(e.X)
	}
	return "", false
}

// verb matches a verb of fmt.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[\d.*]*[a-zA-Z]`)

// Pattern returns a format of fmt with … instead of each verb.
func Pattern(format string) string {
	text := verb.ReplaceAllString(strings.ReplaceAll(format, "%%", "\x00"), "…")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\x00", "%")), " ")
}

// step reports whether a message only names the step that failed, or has no text of its own.
func step(text string) bool {
	if strings.HasPrefix(text, "unknown ") {
		return false
	}
	return strings.HasSuffix(text, ": …") || words(text) < 2
}

// words counts the words of a text, without the parts that are filled in.
func words(text string) int {
	return len(slices.DeleteFunc(strings.Fields(text), func(w string) bool { return !strings.ContainsFunc(w, letter) }))
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
