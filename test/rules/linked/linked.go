// Package linked has the budgets of what each binary may link, and measures what it links. The tests in test/rules
// fail if a binary exceeds a budget, and make size records the numbers as figures.
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

// Module is the path of our module, with a slash.
const Module = "github.com/musterhq/muster/"

// Package is the part of go list's output that this package uses.
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

// List runs go list for Linux on any machine, with the tag of released binaries. The patterns may begin with flags,
// such as -deps.
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

// Binary is one of our binaries, with its budgets.
type Binary struct {
	Name      string // of the file in bin
	Path      string // of its main package
	Packages  int    // maximum, including the standard library and our own
	Modules   int    // maximum, without ours
	Only      []string
	Forbidden []string // packages, with all packages below them
	Except    []string // exceptions below Forbidden
	Crypto    []string // the crypto packages that it may link, with their dependencies; empty: all
}

// Binaries returns the binaries. Their budgets are today's numbers with a little room. Only lists the allowed
// modules if they are few.
func Binaries() []Binary {
	return []Binary{
		{
			Name: "agent", Path: Module + "cmd/agent", Packages: 183, Modules: 4, Only: []string{"golang.org/x/sys", "github.com/flynn/noise", "github.com/hashicorp/yamux", "golang.org/x/crypto"},
			Forbidden: []string{"k8s.io", "net/http", "google.golang.org/grpc", "go.uber.org/zap", "github.com/spf13", "text/template", "html/template", "regexp"},
			Crypto:    []string{"crypto/hmac", "crypto/rand", "crypto/sha256", "crypto/ed25519", "crypto/ecdh", "crypto/aes", "crypto/sha512"},
		},
		{
			Name: "agent-launcher", Path: Module + "cmd/launcher", Packages: 445, Modules: 38,
			Forbidden: []string{"google.golang.org/grpc", "google.golang.org/protobuf", "github.com/hashicorp/go-plugin", "github.com/gogo/protobuf", "github.com/minio", "net/rpc", "html/template",
				"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "sigs.k8s.io/controller-runtime", Module + "agent/controller", Module + "agent/serve"},
		},
		{
			Name: "agent-exporter", Path: Module + "cmd/exporter", Packages: 466, Modules: 45,
			Forbidden: []string{"k8s.io", "sigs.k8s.io", "github.com/spf13", "github.com/hashicorp/go-plugin", "net/rpc", "html/template", Module + "exec", Module + "rendezvous", Module + "agent/launch", Module + "agent/controller"},
			Except:    []string{Module + "exec/build", Module + "exec/names", Module + "exec/shortage"},
		},
		{
			Name: "controller", Path: Module + "cmd/controller", Packages: 860, Modules: 66,
			Forbidden: []string{"google.golang.org/grpc", "github.com/hashicorp/go-plugin", "net/rpc", "html/template", Module + "exec", Module + "agent/launch"},
			Except:    []string{Module + "exec/build", Module + "exec/names", Module + "exec/shortage"},
		},
	}
}

// Found has the numbers of what a binary links.
type Found struct {
	Packages, Modules int
	Breaches          []string // a sentence for each package that is not allowed
}

// Look lists the packages that the binary links.
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
