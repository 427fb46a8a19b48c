package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/suite/figure"
)

// binaries are the binaries to compare, and their packages.
var binaries = []struct{ name, pkg string }{{"agent", "./cmd/agent"}, {"agent-launcher", "./cmd/launcher"}, {"agent-exporter", "./cmd/exporter"}}

// builder is one of the two machines that repro simulates.
type builder struct {
	source string   // directory of the clone
	env    []string // variables that differ between the builders
	p      string   // number of concurrent compilers
}

func repro(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("repro", flag.ContinueOnError)
	tags := fs.String("tags", "", "build with `TAGS`")
	ldflags := fs.String("ldflags", "", "pass `FLAGS` to the linker")
	archs := fs.String("arch", "amd64,arm64", "build for these `ARCHS`, separated by commas")
	if err := fs.Parse(args); err != nil {
		return &codeError{exitUsage, err}
	}
	root, err := figure.Root()
	if err != nil {
		return err
	}
	if changes, err := output(ctx, root, "git", "status", "--porcelain", "--untracked-files=no"); err != nil {
		return fmt.Errorf("not a git checkout: %w", err)
	} else if changes != "" {
		fmt.Fprintln(os.Stderr, "release: uncommitted changes are not in these builds")
	}
	dir, err := os.MkdirTemp("", "repro")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	two, err := builders(ctx, root, dir)
	if err != nil {
		return err
	}
	differ := 0
	for _, arch := range strings.Split(*archs, ",") {
		for _, b := range binaries {
			var sums [2]string
			for i, one := range two {
				if sums[i], err = one.build(ctx, arch, b.name, b.pkg, *tags, *ldflags); err != nil {
					return err
				}
			}
			verdict := "same"
			if sums[0] != sums[1] {
				verdict = "DIFFERENT: " + sums[1]
				differ++
			}
			fmt.Printf("%-15s linux/%-6s %s %s\n", b.name, arch, sums[0], verdict)
		}
	}
	if differ > 0 {
		return fmt.Errorf("%d of the binaries are not reproducible", differ)
	}
	return nil
}

// builders clones the commit twice below dir.
func builders(ctx context.Context, root, dir string) ([2]builder, error) {
	var two [2]builder
	for i, d := range []struct{ name, zone, p string }{{"a", "UTC", "1"}, {"another/directory", "Asia/Kathmandu", "3"}} {
		top := filepath.Join(dir, d.name)
		two[i] = builder{source: filepath.Join(top, "source"), p: d.p}
		for name, sub := range map[string]string{"GOCACHE": "cache", "TMPDIR": "tmp"} {
			path := filepath.Join(top, sub)
			if err := os.MkdirAll(path, 0o755); err != nil {
				return two, err
			}
			two[i].env = append(two[i].env, name+"="+path)
		}
		two[i].env = append(two[i].env, "TZ="+d.zone)
		if _, err := output(ctx, dir, "git", "clone", "--quiet", "--shared", root, two[i].source); err != nil {
			return two, err
		}
	}
	return two, nil
}

// build builds one binary and returns its SHA-256.
func (b builder) build(ctx context.Context, arch, name, pkg, tags, ldflags string) (string, error) {
	out := filepath.Join(b.source, "..", name+"-"+arch)
	cmd := exec.CommandContext(ctx, "go", "build", "-p", b.p, "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", ldflags, "-o", out, pkg)
	cmd.Dir = b.source
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS="), b.env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s for %s: %w\n%s", name, arch, err, text)
	}
	return sumFile(out)
}

// sumFile returns the SHA-256 of a file, in hexadecimal.
func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// output runs a command and returns its standard output.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}
