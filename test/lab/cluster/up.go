package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// up starts everything that does not run yet.
func (c cluster) up() error {
	begin := time.Now()
	if err := c.installPackages(); err != nil {
		return err
	}
	if err := c.build(); err != nil {
		return err
	}
	if err := c.remember(); err != nil {
		return err
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"keys and configuration", c.writeConfiguration},
		{"network " + bridge, func() error { return networkUp(c.dir) }},
		{"control plane", c.controlPlaneUp},
		{"nodes", c.nodesUp},
	}
	for _, s := range steps {
		if err := c.say.step(s.what, s.do); err != nil {
			return err
		}
	}
	c.say.done("Kubernetes %s with %d nodes is up  (%s)", kubernetesVersion, len(nodes()), seconds(time.Since(begin)))
	fmt.Fprintf(c.say.out, "\n   export KUBECONFIG=%s\n   kubectl: %s\n", c.kubeconfig(), c.kubeBin("kubectl"))
	return nil
}

// remember keeps what later verbs need: this program, as PID 1 of nodes, and whether nodes are lost fast.
func (c cluster) remember() error {
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	// A temporary name and a rename: the file may be running.
	if err := writeFile(c.self(), exe, 0o755); err != nil {
		return fmt.Errorf("keep this program: %w", err)
	}
	if c.fast {
		return writeFile(c.fastMark(), nil, 0o644)
	}
	return os.RemoveAll(c.fastMark())
}

func (c cluster) awaitAPI() error {
	a, err := c.api()
	if err != nil {
		return err
	}
	return c.await("kube-apiserver answers /readyz", 2*time.Minute, a.readyz, "kube-apiserver", "etcd")
}

func (c cluster) controlPlaneUp() error {
	for _, name := range controlPlane()[:2] {
		if _, err := c.start(name, c.argv(name), nil); err != nil {
			return err
		}
	}
	if err := c.awaitAPI(); err != nil {
		return err
	}
	return c.startControllers()
}

// nodesUp boots all nodes at once and then waits for each.
func (c cluster) nodesUp() error {
	a, err := c.api()
	if err != nil {
		return err
	}
	leases := map[string]string{}
	for _, n := range nodes() {
		if leases[n.name], err = c.powerOn(n, a); err != nil {
			return err
		}
	}
	for _, n := range nodes() {
		if err := c.awaitContainerd(n); err != nil {
			return err
		}
	}
	if err := c.load([]string{c.pauseArchive(), c.probeArchive()}); err != nil {
		return err
	}
	for _, n := range nodes() {
		if err := c.awaitNode(n, a, leases[n.name]); err != nil {
			return err
		}
	}
	return nil
}

// down ends everything, and takes away what is outside the state directory.
func (c cluster) down(purge bool) error {
	var errs []error
	for _, n := range nodes() {
		if _, _, ok := c.running(n.name); ok {
			errs = append(errs, c.say.step(n.name+" is off", func() error { return c.powerOff(n) }))
		}
	}
	names := controlPlane()
	for i := len(names) - 1; i >= 0; i-- {
		if _, _, ok := c.running(names[i]); !ok {
			continue
		}
		errs = append(errs, c.say.step(names[i]+" ended", func() error { return c.stop(names[i]) }))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if other := owner(); other != "" && other != c.dir {
		c.say.done("the network is that of the cluster of %s and stays", other)
	} else {
		errs = append(errs, c.say.step("network, mount points and cgroups removed", func() error { return errors.Join(networkDown(), c.leftovers()) }))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if purge {
		return c.say.step("removed "+c.dir, func() error { return os.RemoveAll(c.dir) })
	}
	return nil
}

// leftovers removes empty directories that were made on the machine as mount points, and cgroups.
func (c cluster) leftovers() error {
	for _, n := range nodes() {
		removeCgroups(c.nodeDir(n))
	}
	parents, err := filepath.Glob("/sys/fs/cgroup/*/k8s.io")
	if err != nil {
		return err
	}
	// Remove refuses directories that are not empty: those are somebody else's. (It does not refuse one that another
	// mount namespace has mounted something on, and would undo that mount: no node may run any more.)
	for _, dir := range append(parents, append(ownDirs(), "/sys/fs/cgroup/k8s.io")...) {
		os.Remove(dir)
	}
	return nil
}
