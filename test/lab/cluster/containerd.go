package main

import "fmt"

// containerdConfig returns the configuration of a node's containerd, in the format of its version. It sets
// restrict_oom_score_adj, because on machines without CAP_SYS_RESOURCE runc fails with "can't get final child's PID from
// pipe". The socket is in the state directory, which can be reached from outside the node. A test with a registry of its
// own puts a hosts.toml below certs.d, which containerd reads at each pull.
func (c cluster) containerdConfig(n node) string {
	if c.release.debian {
		return fmt.Sprintf(containerd1, c.socket(n), pauseImage, c.nodeDir(n, "cni"), c.nodeDir(n, "certs.d"))
	}
	return fmt.Sprintf(containerd2, c.socket(n), pauseImage, c.nodeDir(n, "certs.d"), c.nodeDir(n, "cni"),
		c.program("containerd-shim-runc-v2"), c.program("runc"))
}

// plainRegistry is the registry that a test runs on a node, without TLS. containerd 1.6 tries HTTP when an address of
// the node itself does not speak TLS, containerd 2 does not.
const plainRegistry = "localhost:5757"

// containerd1 is for containerd 1.6. Its format no longer works for the CRI plugins of containerd 2.
const containerd1 = `version = 2
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
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`

// containerd2 is for containerd 2. It names the shim and runc, because Debian's may be in PATH.
const containerd2 = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = %q
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = %q
[plugins."io.containerd.cri.v1.images".registry]
  config_path = %q
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = %q
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    runtime_path = %q
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = %q
`
