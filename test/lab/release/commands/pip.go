package commands

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/suite/figure"
)

// Python is a Python environment of its own.
type Python struct{ dir string }

// NewPython makes an environment in a directory.
func NewPython(ctx context.Context, dir string) (Python, error) {
	p := Python{dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return p, fmt.Errorf("make directory: %w", err)
	}
	_, err := run(ctx, dir, os.Environ(), "python3", "-m", "venv", dir)
	return p, err
}

// Install installs a wheel, with what it depends on from PyPI, and checks that nothing is missing.
func (p Python) Install(ctx context.Context, wheel string) error {
	root, err := figure.Root()
	if err != nil {
		return err
	}
	if err := p.pip(ctx, "install", "--constraint", filepath.Join(root, "images/python/requirements.txt"), wheel); err != nil {
		return err
	}
	return p.pip(ctx, "check")
}

// Uninstall uninstalls a package.
func (p Python) Uninstall(ctx context.Context, name string) error {
	return p.pip(ctx, "uninstall", "--yes", name)
}

func (p Python) pip(ctx context.Context, args ...string) error {
	_, err := run(ctx, p.dir, os.Environ(), filepath.Join(p.dir, "bin", "pip"), append([]string{"--quiet", "--disable-pip-version-check"}, args...)...)
	return err
}

// Run runs lines of Python with the arguments args, and imports nothing but what is installed here.
func (p Python) Run(ctx context.Context, lines string, args ...string) (string, error) {
	return run(ctx, p.dir, os.Environ(), filepath.Join(p.dir, "bin", "python"), append([]string{"-I", "-c", lines}, args...)...)
}

// run runs a program and returns what it prints. Its complaints are in the error.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
