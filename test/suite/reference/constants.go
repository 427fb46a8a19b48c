package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// group selects constants of a Go file, which are the rows of one table of a page.
type group struct {
	file  string
	names []string // prefixes of the constants' names
}

// The following functions return the groups of constants that users see.
func reasonsOfJobs() group    { return group{"agent/controller/reasons.go", []string{"reason"}} }
func reasonsOfWorkers() group { return group{"rendezvous/reason.go", []string{""}} }
func exitCodes() group        { return group{"exec/names/exitcodes.go", []string{"Exit"}} }
func labels() group           { return group{"exec/names/labels.go", []string{"Label"}} }
func annotations() group      { return group{"exec/names/labels.go", []string{"Annotation"}} }
func gangs() group {
	return group{"agent/controller/gang/gang.go", []string{"volcanoGroup", "volcanoTask", "coschedulingGroup"}}
}
func kueueJobs() group  { return group{"agent/controller/kueue/request.go", []string{"job"}} }
func kueuePods() group  { return group{"agent/controller/kueue/place.go", []string{"pod"}} }
func topologies() group { return group{"agent/controller/kueue/topology.go", []string{"topology"}} }

// table lists the values of the constants, and their comments.
func (g group) table(root, heading string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), root+"/"+g.file, nil, parser.ParseComments)
	if err != nil {
		return "", fmt.Errorf("read constants: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | meaning |\n|---|---|\n", heading)
	found := 0
	for _, decl := range file.Decls {
		consts, ok := decl.(*ast.GenDecl)
		if !ok || consts.Tok != token.CONST {
			continue
		}
		for _, spec := range consts.Specs {
			value := spec.(*ast.ValueSpec)
			if !slices.ContainsFunc(g.names, func(name string) bool { return strings.HasPrefix(value.Names[0].Name, name) }) {
				continue
			}
			row, err := rowOf(value)
			if err != nil {
				return "", fmt.Errorf("%s: %w", g.file, err)
			}
			found++
			b.WriteString(row)
		}
	}
	if found == 0 {
		return "", fmt.Errorf("%s has no constant that begins with one of %q", g.file, g.names)
	}
	return b.String(), nil
}

// rowOf returns the row of one constant.
func rowOf(value *ast.ValueSpec) (string, error) {
	name := value.Names[0].Name
	literal, ok := ast.Expr(nil), false
	if len(value.Values) == 1 {
		literal = value.Values[0]
	}
	basic, ok := literal.(*ast.BasicLit)
	if !ok {
		return "", fmt.Errorf("constant %s has no literal value", name)
	}
	text := basic.Value
	if basic.Kind == token.STRING {
		var err error
		if text, err = strconv.Unquote(text); err != nil {
			return "", fmt.Errorf("constant %s: %w", name, err)
		}
	}
	meaning := strings.Join(strings.Fields(value.Doc.Text()), " ")
	if meaning == "" {
		return "", fmt.Errorf("constant %s has no comment above it that describes %s", name, text)
	}
	return fmt.Sprintf("| %s | %s |\n", code(text), cell(meaning)), nil
}
