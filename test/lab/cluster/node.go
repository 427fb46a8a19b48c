package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

// powerOn boots a node. It returns when the node's first process runs and its cable is plugged in; awaitNode waits
// for the rest. The caller passes lastLease to awaitNode. It is empty if the kubelet was already running.
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
			return "", fmt.Errorf("%s runs without its cable %s: run down, then up", n.name, cable(n))
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

// awaitNode waits until the kubelet of this boot has reported the node as Ready, and the API server reaches that kubelet.
func (c cluster) awaitNode(n node, a api, lastLease string) error {
	err := c.await(n.name+" is Ready", 90*time.Second, func() error { return a.nodeReady(n.name, lastLease) }, n.name)
	if err != nil {
		err = fmt.Errorf("%w\n%s\n%s", err, c.lastLines(n.name+"-kubelet"), c.lastLines(n.name+"-containerd"))
	}
	return err
}

// powerOff simulates a power failure. First it cuts the cable, so that no FIN or RST gets out, as with a
// lost node. Then it kills all processes of the node at once.
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
	// PID 1 exits only after all other processes of its namespace.
	if !i.gone(30 * time.Second) {
		return fmt.Errorf("power off %s: its PID 1 (%d) still exists after 30 s", n.name, i.pid)
	}
	removeCgroups(c.nodeDir(n))
	return os.Remove(c.pidFile(n.name))
}

// programs returns the live children of a node's PID 1 by name.
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

// restartProgram kills a program of a node with SIGKILL. The node's PID 1 restarts it.
func restartProgram(init identity, name string) error {
	p, ok := programs(init)[name]
	if !ok {
		return fmt.Errorf("restart %s: it is not running", name)
	}
	return p.kill(syscall.SIGKILL)
}

// restart kills kubelet, containerd or kube-proxy of a node and waits for the new process. For the kubelet, it also
// waits until the new process has reported the node as Ready.
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

// removeCgroups removes the cgroups of a node's containers, which survive a power-off. The node must be off.
// containerd keeps a directory for each container, and runc's cgroup path is /k8s.io/ID.
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

// removeTree removes a cgroup and its children, deepest first. Only rmdir works, because the kernel owns their files.
func removeTree(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeTree(filepath.Join(dir, e.Name()))
		}
	}
	syscall.Rmdir(dir)
}

// ownDirs returns the directories that each node has for itself. nodeMounts binds a directory of the node over each of
// them, so that programs keep their usual paths and the nodes share no files. Each node also has its own /run.
func ownDirs() []string {
	return []string{"/var/lib/containerd", "/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/var/log/containers"}
}

// cniConfig returns the configuration of the network plugins. It uses ptp, not bridge, so that the node routes every
// packet of a pod. Otherwise answers of a service's pod on the same node would bypass the address translation.
func cniConfig(n node) string {
	return fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "muster", "plugins": [
 {"type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}},
 {"type": "portmap", "capabilities": {"portMappings": true}}]}
`, n.subnet)
}

// kubeletConfig returns the configuration of a node's kubelet. The settings for cgroups work on any machine: no QoS
// tree, the cgroupfs driver, and cgroup v1 allowed, which the kubelet refuses by default from 1.35 on.
func (c cluster) kubeletConfig(n node) string {
	config := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %s
healthzBindAddress: 127.0.0.1
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
maxPods: 200
podPidsLimit: -1
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
containerRuntimeEndpoint: "unix://%s"
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: %q}}
authorization: {mode: AlwaysAllow}
tlsCertFile: %q
tlsPrivateKeyFile: %q
clusterDNS: [%s]
clusterDomain: cluster.local
resolvConf: %q
evictionHard: {memory.available: "100Mi", nodefs.available: "200Mi", imagefs.available: "200Mi"}
imageGCHighThresholdPercent: 100
featureGates: %s
`, n.ip, c.socket(n), c.pki("ca.crt"), c.pki(n.name+".crt"), c.pki(n.name+".key"), hostIP, c.nodeDir(n, "resolv.conf"), c.release.kubeletGates)
	if c.fast {
		config += "nodeStatusUpdateFrequency: 2s\nnodeLeaseDurationSeconds: 8\n"
	}
	return config
}

func (c cluster) proxyConfig(n node) string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: %s
hostnameOverride: %s
bindAddress: %s
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0}
clientConnection: {kubeconfig: %q}
`, podNetwork, n.name, n.ip, c.nodeDir(n, "kube-proxy.kubeconfig"))
}

// writeNode writes a node's files and returns the programs that must be restarted because their file changed.
func (c cluster) writeNode(n node) (changed []string, err error) {
	for _, dir := range ownDirs() {
		// A mount needs a mount point. On the machine itself this directory stays empty.
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(c.nodeDir(n, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := c.writeKubeconfig(c.nodeDir(n, "kubelet.kubeconfig"), n.name); err != nil {
		return nil, err
	}
	if err := c.writeKubeconfig(c.nodeDir(n, "kube-proxy.kubeconfig"), "kube-proxy"); err != nil {
		return nil, err
	}
	for _, f := range []struct{ file, content, reader string }{
		{"containerd.toml", c.containerdConfig(n), "containerd"},
		{filepath.Join("certs.d", plainRegistry, "hosts.toml"), "server = \"http://" + plainRegistry + "\"\n", "containerd"},
		{filepath.Join("cni", "10-muster.conflist"), cniConfig(n), "containerd"},
		{"resolv.conf", "nameserver " + hostIP + "\n", "kubelet"},
		{"kubelet.yaml", c.kubeletConfig(n), "kubelet"},
		{"kube-proxy.yaml", c.proxyConfig(n), "kube-proxy"},
	} {
		path := c.nodeDir(n, f.file)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, []byte(f.content)) {
			continue
		}
		if err := keys.WriteFile(path, []byte(f.content), 0o644); err != nil {
			return nil, err
		}
		changed = append(changed, f.reader)
	}
	return changed, nil
}
