// Package commands installs the commands of a release as users do: the plugin of kubectl by krew, and the
// Python package by pip.
package commands

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// Krew is a directory in which krew keeps plugins.
type Krew struct {
	dir     string
	kubectl string
	env     []string
}

// NewKrew makes such a directory for an operating system and an architecture. kubectl and its plugins
// get only env and the variables that krew needs.
func NewKrew(ctx context.Context, dir, system, arch string, env ...string) (Krew, error) {
	k := Krew{dir: dir}
	own := filepath.Join(dir, "krew") // not Bin: krew takes a program there without a receipt for a plugin of krew v0.2, and refuses
	k.env = append(env, "PATH="+k.Bin()+":"+own, "HOME="+dir, "KREW_ROOT="+dir, "KREW_OS="+system, "KREW_ARCH="+arch)
	root, err := figure.Root()
	if err != nil {
		return k, err
	}
	if k.kubectl, err = kubectl(ctx, root); err != nil {
		return k, err
	}
	m := program.Module{Dir: filepath.Join(root, "test/lab/release/krew"), Path: "sigs.k8s.io/krew", Name: "krew", Commands: []string{"cmd/krew"}}
	programs, err := m.Build(ctx)
	if err != nil {
		return k, err
	}
	index := filepath.Join(dir, "index", "default", ".git") // as krew update leaves it: without one, krew uninstalls nothing
	for _, dir := range []string{own, index} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return k, fmt.Errorf("make directory: %w", err)
		}
	}
	// kubectl krew is the program kubectl-krew.
	return k, os.Symlink(filepath.Join(programs, "krew"), filepath.Join(own, "kubectl-krew"))
}

// kubectl finds a kubectl: that of $MUSTER_KUBECTL, else of PATH. Without either it builds one.
func kubectl(ctx context.Context, root string) (string, error) {
	if found, err := exec.LookPath(kube.Path()); err == nil {
		return found, nil
	}
	m := program.Module{Dir: filepath.Join(root, "test/lab/cluster/kube/1.37"), Path: "k8s.io/kubernetes", Name: "kubectl", Commands: []string{"cmd/kubectl"}}
	dir, err := m.Build(ctx)
	return filepath.Join(dir, "kubectl"), err
}

// Bin is where krew puts the programs of plugins.
func (k Krew) Bin() string { return filepath.Join(k.dir, "bin") }

// Install installs the plugin of a manifest out of a file.
func (k Krew) Install(ctx context.Context, manifest, archive string) error {
	_, err := k.Kubectl(ctx, "krew", "install", "--manifest="+manifest, "--archive="+archive)
	return err
}

// Uninstall uninstalls a plugin.
func (k Krew) Uninstall(ctx context.Context, name string) error {
	_, err := k.Kubectl(ctx, "krew", "uninstall", name)
	return err
}

// Kubectl runs kubectl with the plugins of this directory, and no others.
func (k Krew) Kubectl(ctx context.Context, args ...string) (string, error) {
	return run(ctx, k.dir, k.env, k.kubectl, args...)
}
