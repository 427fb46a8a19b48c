package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

// kubeCommands returns the programs that are built from k8s.io/kubernetes.
func kubeCommands() []string {
	return []string{"kubelet", "kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}
}

// module is a module of Go and the programs that are built from it.
type module struct {
	what     string   // for the user
	folder   string   // the module that pins it, below the current directory
	dir      string   // of the programs
	programs []string // their files
	packages []string
	flags    []string // of go build
	cgo      bool
}

// modules returns what a release needs.
func (c cluster) modules() []module {
	const containerd, strip = "github.com/containerd/containerd/v2/cmd/", "-ldflags=-s -w"
	kube := module{what: "Kubernetes " + c.release.kubernetes, folder: filepath.Join("kube", c.release.minor), dir: filepath.Dir(c.program("kubelet")),
		programs: kubeCommands(), flags: []string{stamp(c.release.kubernetes)}}
	for _, name := range kube.programs {
		kube.packages = append(kube.packages, "k8s.io/kubernetes/cmd/"+name)
	}
	all := []module{kube, {what: "CoreDNS " + corednsVersion, folder: "coredns", dir: filepath.Dir(c.program("coredns")),
		programs: []string{"coredns"}, packages: []string{"."}, flags: []string{strip}}}
	if c.release.debian {
		return all
	}
	return append(all,
		module{what: "containerd " + containerdVersion, folder: "containerd", dir: filepath.Dir(c.program("containerd")), flags: []string{strip},
			programs: []string{"containerd", "containerd-shim-runc-v2", "ctr"},
			packages: []string{containerd + "containerd", containerd + "containerd-shim-runc-v2", containerd + "ctr"}},
		// runc's first steps in a new namespace are written in C. Pods with seccomp profiles need libseccomp.
		module{what: "runc " + runcVersion, folder: "runc", dir: filepath.Dir(c.program("runc")), flags: []string{strip, "-tags=seccomp"}, cgo: true,
			programs: []string{"runc"}, packages: []string{"github.com/opencontainers/runc"}},
		module{what: "etcd " + etcdVersion, folder: "etcd", dir: filepath.Dir(c.program("etcd")), flags: []string{strip},
			programs: []string{"etcd"}, packages: []string{"."}})
}

// stamp returns the linker's flags for the version that Kubernetes' programs report.
func stamp(kubernetes string) string {
	const version = "k8s.io/component-base/version."
	number := strings.Split(strings.TrimPrefix(kubernetes, "v"), ".")
	return fmt.Sprintf("-ldflags=-s -w -X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s", version, kubernetes, version, number[0], version, number[1])
}

// build builds missing programs and the two small images. Their sources are folders of the current directory.
func (c cluster) build() error {
	for _, m := range c.modules() {
		if m.complete() {
			continue
		}
		if err := c.buildModule(m); err != nil {
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

// goBuild builds a module with one command, so that shared packages are compiled once and the linkers run in parallel.
// It builds into another directory first, so that an interrupted build leaves nothing that looks complete.
func goBuild(m module) error {
	if !exists(filepath.Join(m.folder, "go.mod")) {
		return fmt.Errorf("build: no %s/go.mod here: run this in test/lab/cluster", m.folder)
	}
	part := m.dir + ".part"
	for _, d := range []string{part, m.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	argv := append([]string{"go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-o", part + "/"}, m.flags...)
	cmd := exec.Command("nice", append(argv, m.packages...)...)
	cmd.Dir = m.folder
	cgo := "CGO_ENABLED=0"
	if m.cgo {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(os.Environ(), cgo, "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(m.packages, " "), err, tail(out, 15))
	}
	for _, name := range m.programs {
		if err := os.Rename(filepath.Join(part, name), filepath.Join(m.dir, name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(part)
}

// buildImage builds an image with one program of this module: the folder with the image's name, without "muster-".
func (c cluster) buildImage(archive, image string) error {
	if exists(archive) {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(image, "localhost/muster-"), ":")
	return c.say.step("image "+image, func() error {
		dir := c.images(name)
		m := module{folder: ".", dir: dir, programs: []string{name}, packages: []string{"./" + name}, flags: []string{"-ldflags=-s -w"}}
		if err := goBuild(m); err != nil {
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
		return keys.WriteFile(archive, data, 0o644)
	})
}

// needed maps a file that must exist to the Debian package that has it. This program does not use buildah and
// mmdebstrap, but the scripts that build images for the cluster do.
func (c cluster) needed() map[string]string {
	files := map[string]string{
		"/usr/lib/cni/ptp":                   "containernetworking-plugins",
		"/usr/sbin/iptables":                 "iptables",
		"/sbin/ip":                           "iproute2",
		"/usr/bin/buildah":                   "buildah",
		"/usr/bin/mmdebstrap":                "mmdebstrap",
		"/etc/ssl/certs/ca-certificates.crt": "ca-certificates",
	}
	own := map[string]string{"/usr/include/seccomp.h": "libseccomp-dev", "/usr/bin/pkg-config": "pkg-config", "/usr/bin/gcc": "gcc", "/usr/include/stdlib.h": "libc6-dev"}
	if c.release.debian {
		own = map[string]string{"/usr/bin/containerd": "containerd", "/usr/sbin/runc": "runc", "/usr/bin/etcd": "etcd-server"}
	}
	maps.Copy(files, own)
	return files
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
	missing := missingPackages(c.needed(), func(f string) bool { _, err := os.Stat(f); return err == nil })
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
