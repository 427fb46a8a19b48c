package variables

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Source holds the names of variables in the product's source.
type Source struct {
	Reads Found // variables that the product reads, from its own environment or from that of a process
	Sets  Found // variables that it sets
	Words Found // all words that look like variables
	// Open lists the files that read a variable whose name is not in the same file.
	Open []string
}

// Found has the packages in which each name is, sorted.
type Found map[string][]string

func (f Found) add(name, dir string) {
	if !slices.Contains(f[name], dir) {
		f[name] = append(f[name], dir)
		slices.Sort(f[name])
	}
}

// outside lists the packages that are no part of the product: an example of a plugin, and the suite
// that plugins run.
var outside = []string{"agent/framework/plugin/sample", "agent/framework/contract"}

// Collect returns the names in the source of the product at root.
func Collect(root string) (Source, error) {
	files, err := parse(root)
	if err != nil {
		return Source{}, fmt.Errorf("collect variables: %w", err)
	}
	resolve(files)
	s := Source{Reads: Found{}, Sets: Found{}, Words: Found{}}
	for _, f := range files {
		ast.Walk(visitor{source: &s, file: f}, f.tree)
	}
	return s, nil
}

// file is one file of the product.
type file struct {
	name, dir string            // below the repository
	imports   map[string]string // import paths by their name in this file; our own are folders of the repository
	tree      *ast.File
	constants map[string]string // values of all constants of all files, by folder or import path, and name
}

const module = "github.com/musterhq/muster/"

// parse reads every file of the product, without tests.
func parse(root string) ([]*file, error) {
	var all []*file
	constants := external()
	for _, dir := range []string{"cmd", "agent", "exec", "rendezvous", "hostfile"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(at string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, at)
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains(outside, name) {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			tree, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			all = append(all, &file{name: name, dir: path.Dir(name), imports: importsOf(tree), tree: tree, constants: constants})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func importsOf(tree *ast.File) map[string]string {
	all := map[string]string{}
	for _, spec := range tree.Imports {
		at, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(at)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all[name] = strings.TrimPrefix(at, module)
	}
	return all
}

// resolve finds the values of constants. A constant may be made of constants of any file.
func resolve(files []*file) {
	for again := true; again; {
		again = false
		for _, f := range files {
			ast.Inspect(f.tree, func(n ast.Node) bool {
				decl, ok := n.(*ast.GenDecl)
				if !ok || decl.Tok != token.CONST {
					return true
				}
				for _, spec := range decl.Specs {
					again = f.constant(spec.(*ast.ValueSpec)) || again
				}
				return true
			})
		}
	}
}

// constant records the constants of a declaration, and reports whether one of them is new.
func (f *file) constant(spec *ast.ValueSpec) (fresh bool) {
	for i, name := range spec.Names {
		key := f.dir + "." + name.Name
		if _, known := f.constants[key]; known || i >= len(spec.Values) {
			continue
		}
		if value := f.fold(spec.Values[i]); value != "" && !strings.Contains(value, unknown) {
			f.constants[key], fresh = value, true
		}
	}
	return fresh
}

var (
	// variable matches the name of a variable. … stands for a part that is filled in.
	variable = regexp.MustCompile(`^(?:[A-Z][A-Z0-9]+|[A-Z]_[A-Za-z0-9…]+)(?:_[A-Za-z0-9…]+)*$`)
	// word matches a literal that can only be a variable, because it has an underscore.
	word = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Za-z0-9]+)+=?$`)
	// assignment matches NAME=VALUE.
	assignment = regexp.MustCompile(`^([A-Z][A-Z0-9]*(?:_[A-Za-z0-9]+)*)=\S+$`)
)

// visitor collects the names of one file.
type visitor struct {
	source *Source
	file   *file
	loops  map[string][]string // values of the variables of loops over literals
}

// Visit implements ast.Visitor.
func (v visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.RangeStmt:
		return v.within(n)
	case *ast.CallExpr:
		v.call(n)
	case *ast.SelectorExpr:
		for _, name := range libraries()[v.file.selected(n)] {
			v.source.Reads.add(name, v.file.dir)
		}
	case *ast.IndexExpr:
		v.reads(n.Index)
	case *ast.SwitchStmt:
		v.cases(n)
	case *ast.ValueSpec:
		v.list(n)
	case *ast.CompositeLit:
		v.literal(n)
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "MagicCookieKey" {
			v.sets(n.Value)
		}
	case *ast.BinaryExpr:
		v.assigns(n)
	case *ast.BasicLit:
		v.assigns(n)
		if text := v.file.fold(n); word.MatchString(text) {
			v.source.Words.add(strings.TrimSuffix(text, "="), v.file.dir)
		}
	}
	return v
}

// within adds the values of a loop over a literal list.
func (v visitor) within(loop *ast.RangeStmt) visitor {
	list, ok := loop.X.(*ast.CompositeLit)
	name, named := loop.Value.(*ast.Ident)
	if !ok || !named {
		return v
	}
	var values []string
	for _, e := range list.Elts {
		values = append(values, v.file.fold(e))
	}
	loops := map[string][]string{name.Name: values}
	for outer, values := range v.loops {
		if outer != name.Name {
			loops[outer] = values
		}
	}
	v.loops = loops
	return v
}

// values returns what an expression may be.
func (v visitor) values(e ast.Expr) []string {
	if name, ok := e.(*ast.Ident); ok && v.loops[name.Name] != nil {
		return v.loops[name.Name]
	}
	return []string{v.file.fold(e)}
}

// reads records an expression that names a variable, and reports whether it does.
func (v visitor) reads(e ast.Expr) bool { return v.names(v.source.Reads, v.values(e)) }

func (v visitor) sets(e ast.Expr) { v.names(v.source.Sets, v.values(e)) }

func (v visitor) names(in Found, values []string) (all bool) {
	all = true
	for _, name := range values {
		if !variable.MatchString(name) || strings.HasSuffix(name, unknown) {
			all = false
			continue
		}
		in.add(name, v.file.dir)
	}
	return all
}

// assigns records NAME=VALUE in a text.
func (v visitor) assigns(e ast.Expr) {
	if m := assignment.FindStringSubmatch(v.file.fold(e)); m != nil {
		v.source.Sets.add(m[1], v.file.dir)
	}
}
