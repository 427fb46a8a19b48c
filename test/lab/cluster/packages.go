package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// needed maps a file that must exist to the Debian package that has it. buildah and mmdebstrap are not used here but
// by those who make images for this cluster.
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

// missingPackages are those of files that exists says are not there, sorted.
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

// installPackages installs what is missing, without starting the services that Debian's packages bring.
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
		// The lists may be missing or too old for what the mirror still has.
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

// forbidServices makes invoke-rc.d refuse to start anything (Debian policy 9.3.3.1) until restore is called.
// A policy that the machine has already is left as it is.
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

// tail is the last n lines of text.
func tail(text []byte, n int) string {
	lines := strings.Split(string(bytes.TrimRight(text, "\n")), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
