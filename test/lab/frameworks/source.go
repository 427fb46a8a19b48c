//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// source is a package that has no wheel: it is built here, against the packages
// of another recipe.
type source struct {
	requirement string
	over        string // recipe
	env         []string
	patch       func(dir string) error // changes the unpacked source; nil: as it is
}

// build makes a wheel of s with python, which has what the build needs, and
// installs it. It works in dir.
func (s source) build(ctx context.Context, dir, python string, over venv, pip []string) error {
	env := append([]string{"PYTHONPATH=" + over.site()}, s.env...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := call(ctx, nil, env, python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--no-build-isolation", "--no-binary=:all:", "--dest="+dir, s.requirement)
	if err != nil {
		return err
	}
	tree, err := unpack(ctx, dir)
	if err != nil {
		return err
	}
	if s.patch != nil {
		if err := s.patch(tree); err != nil {
			return err
		}
	}
	// pip itself runs such a setup.py twice.
	cmd := exec.CommandContext(ctx, python, "setup.py", "bdist_wheel", "--dist-dir", dir)
	cmd.Dir, cmd.Env = tree, append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", s.requirement, err, said[max(0, len(said)-4000):])
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("build %s: made the wheels %v (%v)", s.requirement, wheels, err)
	}
	return call(ctx, nil, nil, append(slices.Clone(pip), wheels[0])...)
}

// unpack gives the directory of the one archive that lies in dir.
func unpack(ctx context.Context, dir string) (string, error) {
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		return "", fmt.Errorf("downloaded %v (%v)", archives, err)
	}
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	return tree, call(ctx, nil, nil, "tar", "-xzf", archives[0], "-C", tree, "--strip-components=1")
}

var cxxStandard = regexp.MustCompile(`set\(CMAKE_CXX_STANDARD 1[47]\)`)

// patchHorovod lets it be compiled with the headers of today's torch.
func patchHorovod(tree string) error {
	for _, name := range []string{"CMakeLists.txt", "horovod/torch/CMakeLists.txt"} {
		path := filepath.Join(tree, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		patched := cxxStandard.ReplaceAll(text, []byte("set(CMAKE_CXX_STANDARD 20)"))
		if bytes.Equal(text, patched) {
			return fmt.Errorf("patch %s: it sets no C++ standard that is known", path)
		}
		if err := os.WriteFile(path, patched, 0o644); err != nil {
			return err
		}
	}
	return nil
}
