//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

//go:embed locks
var locks embed.FS

// recipe installs a Python environment: the packages of locks/NAME.txt at the
// versions in that file, without their dependencies.
type recipe struct {
	name   string
	source source                                       // a package that is built here, in addition
	finish func(ctx context.Context, site string) error // runs after pip; site is the environment's site-packages
	// making is incremented when finish or the way of installing changes, so that the
	// environment is installed again.
	making int
	// pure: some packages are plain Python without a wheel; pip builds one.
	pure bool
}

func recipes() map[string]recipe {
	all := map[string]recipe{}
	for _, r := range []recipe{
		{name: "torch", finish: finishTorch, making: 1},
		{name: "jax"}, {name: "kubernetes"}, {name: "xgboost"}, {name: "lightgbm"},
		{name: "openmpi"}, {name: "mpich"}, {name: "intelmpi"},
		{name: "tensorflow"}, {name: "paddle"}, {name: "paddleps"}, {name: "ray"}, {name: "mxnet"},
		// Otherwise each rank would compile the shared-memory operation at its start.
		{name: "deepspeed", source: source{requirement: "deepspeed==0.19.8", over: "torch",
			env: []string{"DS_BUILD_OPS=0", "DS_BUILD_SHM_COMM=1", "DS_ACCELERATOR=cpu"}}},
		// With Debian's Open MPI: libopenmpi-dev, cmake, g++.
		{name: "horovod", source: source{requirement: "horovod==0.28.1", over: "torch", patch: patchHorovod,
			env: []string{"HOROVOD_WITH_PYTORCH=1", "HOROVOD_WITHOUT_TENSORFLOW=1", "HOROVOD_WITHOUT_MXNET=1",
				"HOROVOD_WITH_GLOO=1", "HOROVOD_WITH_MPI=1"}}},
		// Without rows: test/suite/pipelines and test/e2e install these with -venv.
		{name: "kfp1", pure: true}, {name: "kfp2", pure: true}, {name: "kubeflow"},
	} {
		all[r.name] = r
	}
	return all
}

// finishTorch makes the wheel of torch usable without CUDA, and half as large.
func finishTorch(ctx context.Context, site string) error {
	lib := filepath.Join(site, "torch", "lib")
	extension, err := filepath.Glob(filepath.Join(site, "torch", "_C*.so"))
	if err != nil {
		return err
	}
	if err := standIns(ctx, lib, extension...); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(lib, "libtorch*.so"))
	if err != nil {
		return err
	}
	return dropGPUCode(ctx, files)
}

// venv is an installed environment. It may be moved and mounted anywhere:
// its scripts find Python through PATH.
type venv struct{ name, dir string }

func (v venv) site() string { return sitePackages(v.dir) }

func sitePackages(dir string) string { return filepath.Join(dir, "lib", "python3.11", "site-packages") }

// where returns the environment's directory, whose name depends on the content.
func (r recipe) where(cache string) (dir string, lock []byte, err error) {
	lock, err = locks.ReadFile("locks/" + r.name + ".txt")
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(lock, "\nmaking %d\n%s", r.making, r.source.requirement))
	return filepath.Join(cache, fmt.Sprintf("%s-%x", r.name, sum[:5])), lock, nil
}

// make returns the environment, and installs it if it does not exist. An existing environment
// is always complete.
func (r recipe) make(ctx context.Context, cache string, say func(string)) (venv, error) {
	dir, lock, err := r.where(cache)
	if err != nil {
		return venv{}, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return venv{}, err
	}
	unlock, err := lockFile(filepath.Join(cache, r.name+".lock"))
	if err != nil {
		return venv{}, err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return venv{r.name, dir}, nil
	}
	say("installing " + dir)
	part := dir + ".part"
	over := venv{}
	if r.source.over != "" {
		if over, err = recipes()[r.source.over].make(ctx, cache, say); err != nil {
			return venv{}, err
		}
	}
	if err := errors.Join(os.RemoveAll(part), r.install(ctx, part, lock, over)); err != nil {
		return venv{}, fmt.Errorf("install %s: %w", r.name, errors.Join(err, os.RemoveAll(part)))
	}
	return venv{r.name, dir}, os.Rename(part, dir)
}

func (r recipe) install(ctx context.Context, dir string, lock []byte, over venv) error {
	if err := call(ctx, nil, nil, "/usr/bin/python3", "-m", "venv", dir); err != nil {
		return err
	}
	python := filepath.Join(dir, "bin", "python3")
	pip := []string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--no-deps"}
	packages := append(slices.Clone(pip), "--requirement=/dev/stdin")
	if !r.pure {
		packages = append(packages, "--only-binary=:all:")
	}
	if err := call(ctx, lock, nil, packages...); err != nil {
		return err
	}
	if r.source.requirement != "" {
		building := dir + ".build"
		err := r.source.build(ctx, building, python, over, pip)
		if err = errors.Join(err, os.RemoveAll(building)); err != nil {
			return err
		}
	}
	if r.finish != nil {
		if err := r.finish(ctx, sitePackages(dir)); err != nil {
			return err
		}
	}
	return loosen(dir)
}

// loosen removes the directory's path from the first lines of the scripts.
func loosen(dir string) error {
	scripts, err := filepath.Glob(filepath.Join(dir, "bin", "*"))
	if err != nil {
		return err
	}
	for _, path := range scripts {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		first, rest, _ := bytes.Cut(text, []byte("\n"))
		if !strings.HasPrefix(string(first), "#!"+dir) {
			continue
		}
		if err := os.WriteFile(path, append([]byte("#!/usr/bin/env python3\n"), rest...), info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

// call runs a command with additional variables. Its error contains the output.
func call(ctx context.Context, stdin []byte, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Env = bytes.NewReader(stdin), append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv[:min(len(argv), 4)], " "), err, said)
	}
	return nil
}

// lockFile waits until no other process installs the same environment.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// source is a package without a wheel. It is built here, against the packages
// of another recipe.
type source struct {
	requirement string
	over        string // the other recipe
	env         []string
	patch       func(dir string) error // changes the unpacked source; nil: no changes
}

// build builds a wheel of s with python, which has the packages that the build needs, and
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
	// pip itself would run such a setup.py twice.
	cmd := exec.CommandContext(ctx, python, "setup.py", "bdist_wheel", "--dist-dir", dir)
	cmd.Dir, cmd.Env = tree, append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", s.requirement, err, said[max(0, len(said)-4000):])
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("build %s: got the wheels %v: %w", s.requirement, wheels, errors.Join(err, errNotOne))
	}
	return call(ctx, nil, nil, append(slices.Clone(pip), wheels[0])...)
}

var errNotOne = errors.New("want exactly one")

// unpack unpacks the only archive in dir, and returns the directory of its content.
func unpack(ctx context.Context, dir string) (string, error) {
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		return "", fmt.Errorf("downloaded %v: %w", archives, errors.Join(err, errNotOne))
	}
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	return tree, call(ctx, nil, nil, "tar", "-xzf", archives[0], "-C", tree, "--strip-components=1")
}

var cxxStandard = regexp.MustCompile(`set\(CMAKE_CXX_STANDARD 1[47]\)`)

// patchHorovod sets the C++ standard that the headers of the current torch require.
func patchHorovod(tree string) error {
	for _, name := range []string{"CMakeLists.txt", "horovod/torch/CMakeLists.txt"} {
		path := filepath.Join(tree, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		patched := cxxStandard.ReplaceAll(text, []byte("set(CMAKE_CXX_STANDARD 20)"))
		if bytes.Equal(text, patched) {
			return fmt.Errorf("patch %s: no known C++ standard found", path)
		}
		if err := os.WriteFile(path, patched, 0o644); err != nil {
			return err
		}
	}
	return nil
}
