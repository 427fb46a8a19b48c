package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kubeCommands are the programs built from k8s.io/kubernetes.
func kubeCommands() []string {
	return []string{"kubelet", "kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}
}

// build makes what is missing of the binaries and of the two small images. Its sources are the folders kube, coredns, pause
// and probe, which are found in the current directory.
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

// goBuild builds packages of the module in folder into dir, all with one command: the packages that they share are
// compiled once and the linkers run side by side. Into a directory beside dir first: a build that was
// interrupted leaves nothing that looks finished.
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

// buildImage makes an image that holds one program of this module: the folder named as the image, without "muster-".
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
