package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kubeCommands returns the programs that are built from k8s.io/kubernetes.
func kubeCommands() []string {
	return []string{"kubelet", "kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}
}

// build builds missing binaries and the two small images. Their sources are the folders kube, coredns, pause
// and probe, which must be in the current directory.
func (c cluster) build() error {
	var packages []string
	for _, name := range kubeCommands() {
		if !exists(c.kubeBin(name)) {
			packages = append(packages, "k8s.io/kubernetes/cmd/"+name)
		}
	}
	if len(packages) > 0 {
		what := fmt.Sprintf("building Kubernetes %s (%d programs, minutes the first time)", kubernetesVersion, len(packages))
		if err := c.say.step(what, func() error { return c.buildKubernetes(packages) }); err != nil {
			return err
		}
	}
	if !exists(c.coredns()) {
		err := c.say.step("building CoreDNS "+corednsVersion, func() error {
			return c.goBuild("coredns", filepath.Dir(c.coredns()), "-s -w", []string{"."})
		})
		if err != nil {
			return err
		}
	}
	for archive, image := range map[string]string{c.pauseArchive(): pauseImage, c.probeArchive(): probeImage} {
		if err := c.buildImage(archive, image); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) buildKubernetes(packages []string) error {
	const version = "k8s.io/component-base/version."
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	flags := fmt.Sprintf("-s -w -X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s", version, kubernetesVersion, version, major, version, minor)
	return c.goBuild("kube", filepath.Dir(c.kubeBin("kubelet")), flags, packages)
}

// goBuild builds packages of the module in folder into dir, all with one command, so that shared packages are
// compiled once and the linkers run in parallel. It builds into another directory first, so that an
// interrupted build leaves nothing that looks complete.
func (c cluster) goBuild(folder, dir, ldflags string, packages []string) error {
	if !exists(filepath.Join(folder, "go.mod")) && folder != "." {
		return fmt.Errorf("build: no %s/go.mod here: run this in test/lab/cluster", folder)
	}
	part := dir + ".part"
	for _, d := range []string{part, dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	cmd := exec.Command("nice", append([]string{"go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", ldflags, "-o", part + "/"}, packages...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(packages, " "), err, tail(out, 15))
	}
	built, err := os.ReadDir(part)
	if err != nil {
		return err
	}
	for _, f := range built {
		if err := os.Rename(filepath.Join(part, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return os.Remove(part)
}

// buildImage builds an image with one program of this module: the folder with the image's name, without "muster-".
func (c cluster) buildImage(archive, image string) error {
	if exists(archive) {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(image, "localhost/muster-"), ":")
	return c.say.step("image "+image, func() error {
		dir := c.path("images", name)
		if err := c.goBuild(".", dir, "-s -w", []string{"./" + name}); err != nil {
			return err
		}
		program, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		data, err := imageArchive(image, "/"+name, program)
		if err != nil {
			return err
		}
		return writeFile(archive, data, 0o644)
	})
}

// needed maps a file that must exist to the Debian package that has it. This program does not use buildah and
// mmdebstrap, but the scripts that build images for the cluster do.
func needed() map[string]string {
	return map[string]string{
		"/usr/bin/containerd":                "containerd",
		"/usr/sbin/runc":                     "runc",
		"/usr/lib/cni/ptp":                   "containernetworking-plugins",
		"/usr/bin/etcd":                      "etcd-server",
		"/usr/sbin/iptables":                 "iptables",
		"/sbin/ip":                           "iproute2",
		"/usr/bin/buildah":                   "buildah",
		"/usr/bin/mmdebstrap":                "mmdebstrap",
		"/etc/ssl/certs/ca-certificates.crt": "ca-certificates",
	}
}

// missingPackages returns the packages of the files that do not exist, sorted.
func missingPackages(files map[string]string, exists func(string) bool) []string {
	var missing []string
	for file, pkg := range files {
		if !exists(file) {
			missing = append(missing, pkg)
		}
	}
	slices.Sort(missing)
	return missing
}

// installPackages installs missing packages, without starting their services.
func (c cluster) installPackages() error {
	missing := missingPackages(needed(), func(f string) bool { _, err := os.Stat(f); return err == nil })
	if len(missing) == 0 {
		return nil
	}
	return c.say.step("installing "+strings.Join(missing, " "), func() error {
		restore, err := forbidServices()
		if err != nil {
			return err
		}
		defer restore()
		install := append([]string{"-o", "DPkg::Lock::Timeout=300", "install", "-y", "-q", "--no-install-recommends"}, missing...)
		if aptGet(install...) == nil {
			return nil
		}
		// The lists may be missing, or older than the mirror's packages.
		if err := aptGet("-o", "Acquire::Retries=3", "-q", "update"); err != nil {
			return err
		}
		return aptGet(install...)
	})
}

func aptGet(args ...string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, tail(out, 15))
	}
	return nil
}

// forbidServices makes invoke-rc.d refuse to start services (Debian policy 9.3.3.1) until restore is called.
// It keeps a policy that already exists on the machine.
func forbidServices() (restore func(), err error) {
	const policy = "/usr/sbin/policy-rc.d"
	f, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if os.IsExist(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("forbid services: %w", err)
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return func() { os.Remove(policy) }, err
}

// tail returns the last n lines of text.
func tail(text []byte, n int) string {
	lines := strings.Split(string(bytes.TrimRight(text, "\n")), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
