// Package linked says what each binary may link, and finds out what it does: the one
// place of these budgets. test/rules fails when one is exceeded, make size records
// them as figures.
package linked

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Module is ours.
const Module = "github.com/musterhq/muster/"

// Package is what go list tells of one.
type Package struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	Module     *struct {
		Path string
		Main bool
	}
}

// List runs go list for linux, with the tag of released binaries, whatever machine
// this is. The patterns may begin with flags, as -deps.
func List(patterns ...string) ([]Package, error) {
	cmd := exec.Command("go", append([]string{"list", "-tags=grpcnotrace", "-json=ImportPath,Standard,Imports,Deps,Module"}, patterns...)...)
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	var all []Package
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("go list %s: no package", strings.Join(patterns, " "))
	}
	return all, nil
}

// Binary is one of ours, with what it may link.
type Binary struct {
	Name      string // of the file in bin
	Path      string // of its main package
	Packages  int    // at most, the standard library's and our own among them
	Modules   int    // at most, besides ours
	Only      []string
	Forbidden []string // packages, with all below them
	Except    []string // packages below those that it may link
	Crypto    []string // of crypto it may link these and what they draw in; empty: all of it
}

// Binaries have today's numbers and a little room. Only: the modules that there may be,
// where they are few enough to name.
func Binaries() []Binary {
	return []Binary{
		{
			Name: "agent", Path: Module + "cmd/agent", Packages: 155, Modules: 1, Only: []string{"golang.org/x/sys"},
			Forbidden: []string{"k8s.io", "net/http", "google.golang.org/grpc", "go.uber.org/zap", "github.com/spf13", "text/template", "html/template", "regexp"},
			Crypto:    []string{"crypto/hmac", "crypto/rand", "crypto/sha256"},
		},
		{
			Name: "agent-launcher", Path: Module + "cmd/launcher", Packages: 412, Modules: 37,
			Forbidden: []string{"google.golang.org/grpc", "google.golang.org/protobuf", "github.com/hashicorp/go-plugin", "github.com/gogo/protobuf", "net/rpc", "html/template",
				"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "sigs.k8s.io/controller-runtime", Module + "agent/controller", Module + "agent/serve"},
		},
		{
			Name: "controller", Path: Module + "cmd/controller", Packages: 860, Modules: 66,
			Forbidden: []string{"google.golang.org/grpc", "github.com/hashicorp/go-plugin", "net/rpc", "html/template", Module + "exec", Module + "agent/launch"},
			Except:    []string{Module + "exec/build", Module + "exec/names", Module + "exec/shortage"},
		},
	}
}

// Found is what a binary links.
type Found struct {
	Packages, Modules int
	Breaches          []string // a sentence for each package that it may not link
}

// Look lists what the binary links.
func (b Binary) Look() (Found, error) {
	all, err := List("-deps", b.Path)
	if err != nil {
		return Found{}, err
	}
	crypto := map[string]bool{}
	if len(b.Crypto) > 0 {
		parts, err := List(append([]string{"-deps"}, b.Crypto...)...)
		if err != nil {
			return Found{}, err
		}
		for _, p := range parts {
			crypto[p.ImportPath] = true
		}
	}
	return b.judge(all, crypto), nil
}

func (b Binary) judge(all []Package, crypto map[string]bool) Found {
	f := Found{Packages: len(all)}
	modules := map[string]bool{}
	for _, p := range all {
		if p.Module != nil && !p.Module.Main {
			modules[p.Module.Path] = true
			if b.Only != nil && !slices.Contains(b.Only, p.Module.Path) {
				f.Breaches = append(f.Breaches, fmt.Sprintf("%s depends on %s of %s; it may have %s", b.Name, p.ImportPath, p.Module.Path, strings.Join(b.Only, ", ")))
			}
		}
		for _, no := range b.Forbidden {
			if !slices.Contains(b.Except, p.ImportPath) && (p.ImportPath == no || strings.HasPrefix(p.ImportPath, no+"/")) {
				f.Breaches = append(f.Breaches, b.Name+" depends on "+p.ImportPath)
			}
		}
		isCrypto := p.ImportPath == "crypto" || strings.HasPrefix(p.ImportPath, "crypto/")
		if isCrypto && len(b.Crypto) > 0 && !crypto[p.ImportPath] {
			f.Breaches = append(f.Breaches, b.Name+" depends on "+p.ImportPath)
		}
	}
	f.Modules = len(modules)
	return f
}
