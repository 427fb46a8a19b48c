package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Every node sees its own /run, and its own directories in place of these (bound by init.go), so that the programs
// keep their usual paths and two nodes on one machine do not meet.
func ownDirs() []string {
	return []string{"/var/lib/containerd", "/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/var/log/containers"}
}

// containerdConfig: restrict_oom_score_adj, because runc dies with "can't get final child's PID from pipe" where the
// machine lacks CAP_SYS_RESOURCE. The socket lies in the state directory, where it is reached from outside the node.
func (c cluster) containerdConfig(n node) string {
	return fmt.Sprintf(`version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = %q
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`, c.socket(n), pauseImage, c.nodeDir(n, "cni"))
}

// cniConfig uses ptp, not bridge: every packet of a pod is routed by its node, so that the answer of a service's pod
// on the same node finds its way back through the address translation.
func cniConfig(n node) string {
	return fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "muster", "plugins": [
 {"type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}},
 {"type": "portmap", "capabilities": {"portMappings": true}}]}
`, n.subnet)
}

// kubeletConfig: cgroups without the QoS tree, with the cgroupfs driver and cgroup v1 allowed, work on any machine.
// Pods are not resized in place: where a pod's cgroup is set up again, as after a restart of the node, the kubelet of
// 1.34.2 takes it for a resize and dies of a nil pointer.
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
evictionHard: {memory.available: "100Mi", nodefs.available: "1%%", imagefs.available: "1%%"}
imageGCHighThresholdPercent: 100
featureGates: {InPlacePodVerticalScaling: false}
`, n.ip, c.socket(n), c.pki("ca.crt"), c.pki(n.name+".crt"), c.pki(n.name+".key"), hostIP, c.nodeDir(n, "resolv.conf"))
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

// writeNode writes a node's files and reports which of its programs must be restarted because their file changed.
func (c cluster) writeNode(n node) (changed []string, err error) {
	for _, dir := range ownDirs() {
		// A mount needs a directory to be mounted on; on the machine itself it stays empty.
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
		{filepath.Join("cni", "10-muster.conflist"), cniConfig(n), "containerd"},
		{"resolv.conf", "nameserver " + hostIP + "\n", "kubelet"},
		{"kubelet.yaml", c.kubeletConfig(n), "kubelet"},
		{"kube-proxy.yaml", c.proxyConfig(n), "kube-proxy"},
	} {
		path := c.nodeDir(n, f.file)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, []byte(f.content)) {
			continue
		}
		if err := writeFile(path, []byte(f.content), 0o644); err != nil {
			return nil, err
		}
		changed = append(changed, f.reader)
	}
	return changed, nil
}
