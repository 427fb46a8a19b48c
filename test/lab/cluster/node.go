package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// powerOn boots a node. It returns when the node's first process runs and its cable is plugged in: awaitNode waits
// for the rest. lastLease is to be handed to awaitNode; with a node that runs already it is empty.
func (c cluster) powerOn(n node, a api) (lastLease string, err error) {
	changed, err := c.writeNode(n)
	if err != nil {
		return "", fmt.Errorf("configure %s: %w", n.name, err)
	}
	argv := []string{c.self(), "node-init", c.dir, n.name}
	if i, _, ok := c.running(n.name); ok {
		for _, name := range changed {
			if err := restartProgram(i, name); err != nil {
				return "", err
			}
			if name == "kubelet" {
				lastLease = a.leaseTime(n.name)
			}
		}
		if !exists("/sys/class/net/" + cable(n)) {
			return "", fmt.Errorf("%s runs without its cable %s: take it down and up again", n.name, cable(n))
		}
		return lastLease, plug(n)
	}
	lastLease = a.leaseTime(n.name)
	removeCgroups(c.nodeDir(n))
	_, err = c.start(n.name, argv, &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
	})
	if err != nil {
		return "", err
	}
	i, _, ok := c.running(n.name)
	if !ok {
		return "", c.died(n.name)
	}
	if err := link(n, i.pid); err != nil {
		return "", fmt.Errorf("%s: lay cable: %w", n.name, err)
	}
	return lastLease, plug(n)
}

// awaitNode waits until the node is Ready by a kubelet of this boot and the API server reaches that kubelet.
func (c cluster) awaitNode(n node, a api, lastLease string) error {
	err := c.await(n.name+" is Ready", 90*time.Second, func() error { return a.nodeReady(n.name, lastLease) }, n.name)
	if err != nil {
		err = fmt.Errorf("%w\n%s\n%s", err, c.lastLines(n.name+"-kubelet"), c.lastLines(n.name+"-containerd"))
	}
	return err
}

// powerOff is a machine that loses its power: its cable goes first, so that no FIN and no RST gets out (only then does
// a lost node look like one), then every process of it at the same instant.
func (c cluster) powerOff(n node) error {
	i, _, ok := c.running(n.name)
	if !ok {
		return os.RemoveAll(c.pidFile(n.name))
	}
	if exists("/sys/class/net/" + cable(n)) {
		if err := unplug(n); err != nil {
			return err
		}
	}
	if err := i.kill(syscall.SIGKILL); err != nil {
		return err
	}
	// PID 1 is gone when the last process of its namespace is.
	if !i.gone(30 * time.Second) {
		return fmt.Errorf("power off %s: its PID 1 (%d) is still there after 30 s", n.name, i.pid)
	}
	removeCgroups(c.nodeDir(n))
	return os.Remove(c.pidFile(n.name))
}

// programs finds the live children of a node's PID 1 by name.
func programs(init identity) map[string]identity {
	found := map[string]identity{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		s, err := readStat(pid)
		if err == nil && s.parent == init.pid && s.state != 'Z' {
			found[s.command] = identity{pid, s.start}
		}
	}
	return found
}

// restartProgram kills a program of a node with SIGKILL; the node's PID 1 starts it again.
func restartProgram(init identity, name string) error {
	p, ok := programs(init)[name]
	if !ok {
		return fmt.Errorf("restart %s: it does not run", name)
	}
	return p.kill(syscall.SIGKILL)
}

// restart kills kubelet, containerd or kube-proxy of a node and waits until there is a new one, and until the node is
// Ready by it if it is the kubelet.
func (c cluster) restart(n node, name string) error {
	init, _, ok := c.running(n.name)
	if !ok {
		return fmt.Errorf("restart %s: %s is off", name, n.name)
	}
	a, err := c.api()
	if err != nil {
		return err
	}
	old := programs(init)[name]
	if err := restartProgram(init, name); err != nil {
		return err
	}
	lease := a.leaseTime(n.name)
	err = c.await("a new "+name+" on "+n.name, 20*time.Second, func() error {
		if p, ok := programs(init)[name]; !ok || p == old {
			return errors.New("not started yet")
		}
		return nil
	}, n.name)
	if err != nil || name != "kubelet" {
		return err
	}
	return c.awaitNode(n, a, lease)
}

// removeCgroups removes the cgroups of the containers of a node that does not run: those outlive a power-off. The
// containers are known by the directories that containerd keeps for them; runc's path for them is /k8s.io/ID.
func removeCgroups(nodeDir string) {
	cri := filepath.Join(nodeDir, "var/lib/containerd/io.containerd.grpc.v1.cri")
	for _, kind := range []string{"containers", "sandboxes"} {
		ids, _ := os.ReadDir(filepath.Join(cri, kind))
		for _, id := range ids {
			for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
				found, _ := filepath.Glob(filepath.Join(root, "k8s.io", id.Name()))
				for _, dir := range found {
					removeTree(dir)
				}
			}
		}
	}
}

// removeTree removes a cgroup and the ones inside, deepest first. Their files are the kernel's: only rmdir works.
func removeTree(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeTree(filepath.Join(dir, e.Name()))
		}
	}
	syscall.Rmdir(dir)
}
