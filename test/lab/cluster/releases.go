package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// release is a minor version of Kubernetes that the cluster can run, with what belongs to it. A new one is a row of
// releases, and a module below kube.
type release struct {
	minor      string // the argument of --kubernetes, the name of the module below kube and of the state directory
	kubernetes string // the version that the module pins
	// debian says that containerd, runc and etcd are Debian's. Otherwise they are built from the modules containerd, runc
	// and etcd.
	debian bool
	// flags are command-line flags of components of the control plane, in addition to those of every version.
	flags map[string][]string
	// kubeletGates are the feature gates of the kubelet, as YAML.
	kubeletGates string
}

// defaultMinor is the version of a cluster if nobody has asked for another one.
const defaultMinor = "1.37"

// Versions of the modules. A test compares them with the go.mod files.
const (
	containerdVersion = "v2.4.2"
	runcVersion       = "v1.5.3"
	etcdVersion       = "v3.7.3"
	corednsVersion    = "v1.12.4"
)

// releases returns the versions of Kubernetes, oldest first.
//
// Streamed lists require etcd 3.5, but Debian has 3.4, so each of them would fail after it has started. kwok's watches
// are treated as streamed lists: kwok would restart them repeatedly, with pauses of up to half a minute. The scheduler
// and the controllers would be nearly idle for a minute or more after a restart of the API server. So 1.34 has none.
//
// When a pod's cgroup is created again, as after a restart of the node, the kubelet of 1.34.2 treats that as a resize
// and crashes with a nil pointer. So it resizes no pods. Later versions cannot switch that off.
//
// Gang scheduling is off by default in each version, and its API is not served. 1.36 is the first with PodGroups.
//
// There is no cloud. 1.37 has no controller for one.
func releases() []release {
	const noCloud = "--controllers=-cloud-node-lifecycle-controller"
	return []release{
		{
			minor: "1.34", kubernetes: "v1.34.2", debian: true,
			flags: map[string][]string{
				"kube-apiserver":          {"--feature-gates=WatchList=false"},
				"kube-controller-manager": {"--feature-gates=WatchListClient=false", noCloud},
				"kube-scheduler":          {"--feature-gates=WatchListClient=false"},
			},
			kubeletGates: "{InPlacePodVerticalScaling: false}",
		},
		{minor: "1.35", kubernetes: "v1.35.4", kubeletGates: "{}", flags: map[string][]string{"kube-controller-manager": {noCloud}}},
		{minor: "1.36", kubernetes: "v1.36.3", kubeletGates: "{}", flags: gangs("v1alpha2", "GenericWorkload=true,GangScheduling=true", noCloud)},
		{minor: "1.37", kubernetes: "v1.37.2", kubeletGates: "{}", flags: gangs("v1beta1", "GenericWorkload=true")},
	}
}

// gangs returns the flags that switch gang scheduling on, and others of the controller manager.
func gangs(version, gates string, manager ...string) map[string][]string {
	gate := "--feature-gates=" + gates
	return map[string][]string{
		"kube-apiserver":          {gate, "--runtime-config=scheduling.k8s.io/" + version + "=true"},
		"kube-controller-manager": append(manager, gate),
		"kube-scheduler":          {gate},
	}
}

// releaseNamed returns the release with a minor version, such as 1.37.
func releaseNamed(minor string) (release, error) {
	var known []string
	for _, r := range releases() {
		if r.minor == minor {
			return r, nil
		}
		known = append(known, r.minor)
	}
	return release{}, fmt.Errorf("version %q is not one of these: %s", minor, strings.Join(known, ", "))
}

// chosen returns the release that a verb is about, and its arguments without --kubernetes=MINOR, which up, build and plane
// take. Without that flag it is the one that runs, else the default.
func chosen(verb string, args []string, running string) (release, []string, error) {
	const flag = "--kubernetes="
	minor := defaultMinor
	if r, err := releaseNamed(filepath.Base(running)); err == nil {
		minor = r.minor
	}
	var rest []string
	for _, a := range args {
		if value, ok := strings.CutPrefix(a, flag); ok && slices.Contains([]string{"up", "build", "plane"}, verb) {
			minor = value
		} else {
			rest = append(rest, a)
		}
	}
	r, err := releaseNamed(minor)
	if err != nil {
		return release{}, nil, usageError{flag + minor + ": " + err.Error()}
	}
	return r, rest, nil
}

// clusterOf returns the cluster of a release. Each release has a state directory of its own below base: an older etcd
// and an older containerd do not read what a newer one wrote.
func clusterOf(base string, r release) cluster {
	return cluster{base: base, dir: filepath.Join(base, r.minor), release: r}
}

// clusterIn returns the cluster with a state directory.
func clusterIn(dir string) (cluster, error) {
	r, err := releaseNamed(filepath.Base(dir))
	if err != nil {
		return cluster{}, fmt.Errorf("state directory %s: %w", dir, err)
	}
	return clusterOf(filepath.Dir(dir), r), nil
}

// ours reports whether a path is a state directory below base. Before there were several releases, base itself was one.
func ours(base, dir string) bool {
	return dir == base || filepath.Dir(dir) == base
}

// bin returns the directory of a program that is built from a module.
func (c cluster) bin(module, version string) string {
	return filepath.Join(c.base, "bin", module+"-"+version)
}

// program returns the path of a program that the cluster runs.
func (c cluster) program(name string) string {
	if slices.Contains(kubeCommands(), name) {
		return filepath.Join(c.bin("kubernetes", c.release.kubernetes), name)
	}
	if name == "coredns" {
		return filepath.Join(c.bin("coredns", corednsVersion), name)
	}
	if c.release.debian {
		return filepath.Join("/usr/bin", name)
	}
	switch name {
	case "etcd":
		return filepath.Join(c.bin("etcd", etcdVersion), name)
	case "runc":
		return filepath.Join(c.bin("runc", runcVersion), name)
	}
	return filepath.Join(c.bin("containerd", containerdVersion), name)
}
