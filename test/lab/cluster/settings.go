package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Versions of what is built. They repeat what kube/go.mod and coredns/go.mod pin; a test compares them.
const (
	kubernetesVersion = "v1.34.2"
	corednsVersion    = "v1.12.4"
	pauseImage        = "localhost/muster-pause:1"
)

// Addresses. All of them are in 198.18.0.0/15 (RFC 2544, benchmarking), which no public network routes.
const (
	allNetworks   = "198.18.0.0/15"
	podNetwork    = "198.18.0.0/16"
	serviceSubnet = "198.19.0.0/24"
	serviceIP     = "198.19.0.1" // of the service "kubernetes"
	hostIP        = "198.19.255.1"
	hostPrefix    = "24"
	apiPort       = "6443"
	etcdClient    = "http://127.0.0.1:12379"
	etcdPeer      = "http://127.0.0.1:12380"
	bridge        = "muster0"
	chain         = "MUSTER-CLUSTER"
)

// node is one machine of the cluster: its own network, pid and mount namespaces on this machine.
type node struct {
	name   string
	ip     string
	subnet string // of its pods
}

// nodes of the cluster; a /22 each holds 1021 pods.
func nodes() []node {
	return []node{
		{"node1", "198.19.255.11", "198.18.4.0/22"},
		{"node2", "198.19.255.12", "198.18.8.0/22"},
	}
}

// cluster is where everything is kept. Its methods read and write below dir only, apart from
// the bridge, the iptables chain and the routes (network.go) and cgroups (node_cgroup.go).
type cluster struct {
	dir string
	// fast makes the loss of a node visible after about 8 s in place of 50 s, and evicts its pods 5 s later in place of 300 s.
	fast bool
	say  say
}

// stateDir is $MUSTER_CLUSTER_DIR, else muster/cluster below $XDG_CACHE_HOME or ~/.cache; absolute.
func stateDir(getenv func(string) string) (string, error) {
	if d := getenv("MUSTER_CLUSTER_DIR"); d != "" {
		return filepath.Abs(d)
	}
	cache := getenv("XDG_CACHE_HOME")
	if cache == "" {
		if getenv("HOME") == "" {
			return "", fmt.Errorf("no place for the cluster's state: set MUSTER_CLUSTER_DIR, or HOME")
		}
		cache = filepath.Join(getenv("HOME"), ".cache")
	}
	return filepath.Join(cache, "muster", "cluster"), nil
}

func (c cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}
func (c cluster) kubeconfig() string { return c.path("kubeconfig") }
func (c cluster) kubeBin(name string) string {
	return c.path("bin", "kubernetes-"+kubernetesVersion, name)
}
func (c cluster) coredns() string            { return c.path("bin", "coredns-"+corednsVersion, "coredns") }
func (c cluster) pauseArchive() string       { return c.path("images", "pause.tar") }
func (c cluster) self() string               { return c.path("bin", "cluster") }
func (c cluster) logFile(name string) string { return c.path("log", name+".log") }
func (c cluster) fastMark() string           { return c.path("run", "fast") }
func (c cluster) pki(name string) string     { return c.path("pki", name) }
func (c cluster) socket(n node) string       { return c.path("nodes", n.name, "containerd.sock") }
func (c cluster) nodeDir(n node, elem ...string) string {
	return c.path(append([]string{"nodes", n.name}, elem...)...)
}
func apiURL() string { return "https://" + net.JoinHostPort(hostIP, apiPort) }

// check refuses a state directory in which the cluster cannot run.
func (c cluster) check() error {
	// A unix socket's path has 108 bytes in sockaddr_un, the last one is 0.
	if s := c.socket(nodes()[0]); len(s) > 107 {
		return fmt.Errorf("state directory %s: the socket %s would have %d bytes, 107 are possible; set MUSTER_CLUSTER_DIR to a shorter one", c.dir, s, len(s))
	}
	// Each node mounts an empty /run of its own over the machine's.
	if rel, err := filepath.Rel("/run", c.dir); err == nil && !startsWithDots(rel) {
		return fmt.Errorf("state directory %s: must not be below /run, which every node covers", c.dir)
	}
	return nil
}

func startsWithDots(rel string) bool { return len(rel) >= 2 && rel[:2] == ".." }

// nodeNamed finds a node by its name.
func nodeNamed(name string) (node, error) {
	for _, n := range nodes() {
		if n.name == name {
			return n, nil
		}
	}
	return node{}, fmt.Errorf("no node %q: there are node1 and node2", name)
}

// writeFile writes data at once, so that nobody reads half a file.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, data, mode); err != nil {
		return err
	}
	return os.Rename(part, path)
}
