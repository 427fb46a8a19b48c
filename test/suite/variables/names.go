package variables

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/agent/settings"
)

// unknown stands for a part of a text that is no constant.
const unknown = "…"

// external has the constants of other modules.
func external() map[string]string {
	return map[string]string{"k8s.io/client-go/tools/clientcmd.RecommendedConfigPathEnvVar": clientcmd.RecommendedConfigPathEnvVar}
}

// readers has, for each function that reads a variable, the index of the name among its arguments. A
// function without a package is one of ours, or a parameter that stands for os.Getenv.
func readers() map[string]int {
	return map[string]int{"os.Getenv": 0, "os.LookupEnv": 0, "getenv": 0, "env": 0, "envOr": 0, "lookup": 1}
}

// prefixes are functions that take NAME= as their second argument.
func prefixes() []string {
	return []string{"strings.CutPrefix", "strings.HasPrefix", "bytes.CutPrefix", "bytes.HasPrefix"}
}

// setters has, for each function that sets a variable, the index of the name among its arguments.
func setters() map[string]int {
	return map[string]int{"setDefault": 1, "tell": 0, "field": 0, "fromSecret": 0}
}

// libraries has the variables that a function of another module reads.
func libraries() map[string][]string {
	kubeconfig := []string{"KUBECONFIG", "HOME"}
	return map[string][]string{
		"os.TempDir":                            {"TMPDIR"},
		"os/exec.LookPath":                      {"PATH"},
		"net/http.ProxyFromEnvironment":         {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"},
		"k8s.io/client-go/rest.InClusterConfig": {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"},
		"k8s.io/client-go/tools/clientcmd.NewDefaultClientConfigLoadingRules": kubeconfig,
		"sigs.k8s.io/controller-runtime/pkg/client/config.GetConfig":          append(kubeconfig, "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"),
	}
}

// lists are variables of our own that hold names of environment variables.
func lists() []string { return []string{"rankVariables", "localVariables", "anyRank"} }

// call records the variables that a call reads or sets.
func (v visitor) call(c *ast.CallExpr) {
	name := v.file.called(c.Fun)
	if at, ok := readers()[name]; ok && at < len(c.Args) {
		if known := v.reads(c.Args[at]); !known && strings.HasPrefix(name, "os.") && !slices.Contains(v.source.Open, v.file.name) {
			v.source.Open = append(v.source.Open, v.file.name)
		}
	}
	if slices.Contains(prefixes(), name) && len(c.Args) == 2 {
		if text, ok := strings.CutSuffix(v.file.fold(c.Args[1]), "="); ok {
			v.names(v.source.Reads, []string{text})
		}
	}
	if at, ok := setters()[name]; ok && at < len(c.Args) {
		v.sets(c.Args[at])
	}
	if name == "both" { // of agent/framework: one setting for Open MPI 4 and 5
		v.names(v.source.Sets, []string{"OMPI_MCA_" + v.file.fold(c.Args[0]), "PRTE_MCA_" + v.file.fold(c.Args[1])})
	}
}

// called returns the name of a function: that of ours without a package, or one with its import path.
func (f *file) called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return f.selected(e)
	}
	return ""
}

// selected returns PATH.NAME for a name of another package, or "".
func (f *file) selected(e *ast.SelectorExpr) string {
	of, ok := e.X.(*ast.Ident)
	if !ok || f.imports[of.Name] == "" {
		return ""
	}
	return f.imports[of.Name] + "." + e.Sel.Name
}

// cases records the cases of a switch over the name in front of "=".
func (v visitor) cases(s *ast.SwitchStmt) {
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || len(init.Rhs) != 1 {
		return
	}
	cut, ok := init.Rhs[0].(*ast.CallExpr)
	if !ok || len(cut.Args) != 2 || !strings.HasSuffix(v.file.called(cut.Fun), "s.Cut") || v.file.fold(cut.Args[1]) != "=" {
		return
	}
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			v.reads(e)
		}
	}
}

// list records the entries of a list of variables that are read.
func (v visitor) list(spec *ast.ValueSpec) {
	if len(spec.Values) != 1 || !slices.Contains(lists(), spec.Names[0].Name) {
		return
	}
	if list, ok := spec.Values[0].(*ast.CompositeLit); ok {
		for _, e := range list.Elts {
			v.reads(e)
		}
	}
}

// literal records the names in literals of framework.Var and corev1.EnvVar, in lists of them, and in
// pairs.
func (v visitor) literal(lit *ast.CompositeLit) {
	array, ok := lit.Type.(*ast.ArrayType)
	if !ok {
		if isVariable(lit.Type) {
			v.entry(lit)
		}
		return
	}
	for _, e := range lit.Elts {
		entry, ok := e.(*ast.CompositeLit)
		switch {
		case ok && isVariable(array.Elt):
			v.entry(entry)
		case ok && isPair(array.Elt):
			v.pair(entry)
		}
	}
	if isPair(array) {
		v.pair(lit)
	}
}

func isVariable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Var"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Var" || e.Sel.Name == "EnvVar"
	}
	return false
}

func isPair(e ast.Expr) bool {
	array, ok := e.(*ast.ArrayType)
	if !ok {
		return false
	}
	length, ok := array.Len.(*ast.BasicLit)
	return ok && length.Value == "2"
}

func (v visitor) entry(lit *ast.CompositeLit) {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Name" {
				v.sets(pair.Value)
			}
		}
	}
}

func (v visitor) pair(lit *ast.CompositeLit) {
	for _, e := range lit.Elts {
		v.sets(e)
	}
}

// fold returns the value of a text, with … for each part that is no constant.
func (f *file) fold(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.Ident:
		if text, ok := f.constants[f.dir+"."+e.Name]; ok {
			return text
		}
	case *ast.SelectorExpr:
		if text, ok := f.constants[f.selected(e)]; ok {
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return f.fold(e.X) + f.fold(e.Y)
		}
	case *ast.ParenExpr:
		return f.fold(e.X)
	case *ast.CallExpr:
		return f.converted(e)
	}
	return unknown
}

// converted is fold for []byte("A"), string(a) and settings.Variable("a").
func (f *file) converted(c *ast.CallExpr) string {
	if len(c.Args) != 1 {
		return unknown
	}
	name, ok := c.Fun.(*ast.Ident)
	_, array := c.Fun.(*ast.ArrayType)
	if array || ok && name.Name == "string" {
		return f.fold(c.Args[0])
	}
	if text := f.fold(c.Args[0]); f.called(c.Fun) == "agent/settings.Variable" && text != unknown {
		return settings.Variable(text)
	}
	return unknown
}
