package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

const pauseImage = "localhost/muster-pause:1"

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

// node is a machine of the cluster, with its own network, PID, mount and UTS namespaces on this machine.
type node struct {
	name   string
	ip     string
	subnet string // of its pods
}

// nodes returns the nodes of the cluster. A /22 has room for 1021 pods.
func nodes() []node {
	return []node{
		{"node1", "198.19.255.11", "198.18.4.0/22"},
		{"node2", "198.19.255.12", "198.18.8.0/22"},
	}
}

// cluster is the state directory of a cluster. Its methods read and write only below dir, with a few exceptions. All
// releases share built programs and two images below base. The bridge, the iptables chain and the routes are in
// network.go, and the cgroups in node.go.
type cluster struct {
	base    string
	dir     string
	release release
	// fast makes the loss of a node visible after about 8 s instead of 50 s, and evicts its pods 5 s later instead of 300 s.
	fast bool
	say  say
}

// stateDir returns $MUSTER_CLUSTER_DIR, or muster/cluster below $XDG_CACHE_HOME or ~/.cache, as an absolute path.
func stateDir(getenv func(string) string) (string, error) {
	if d := getenv("MUSTER_CLUSTER_DIR"); d != "" {
		return filepath.Abs(d)
	}
	cache := getenv("XDG_CACHE_HOME")
	if cache == "" {
		if getenv("HOME") == "" {
			return "", fmt.Errorf("no directory for the cluster's state: set MUSTER_CLUSTER_DIR or HOME")
		}
		cache = filepath.Join(getenv("HOME"), ".cache")
	}
	return filepath.Join(cache, "muster", "cluster"), nil
}

func (c cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}
func (c cluster) kubeconfig() string         { return c.path("kubeconfig") }
func (c cluster) images(name string) string  { return filepath.Join(c.base, "images", name) }
func (c cluster) pauseArchive() string       { return c.images("pause.tar") }
func (c cluster) self() string               { return filepath.Join(c.base, "bin", "cluster") }
func (c cluster) logFile(name string) string { return c.path("log", name+".log") }
func (c cluster) fastMark() string           { return c.path("run", "fast") }
func (c cluster) keys() keys.Dir             { return keys.Dir(c.path("pki")) }
func (c cluster) pki(name string) string     { return c.keys().File(name) }
func (c cluster) socket(n node) string       { return c.path("nodes", n.name, "containerd.sock") }
func (c cluster) nodeDir(n node, elem ...string) string {
	return c.path(append([]string{"nodes", n.name}, elem...)...)
}
func apiURL() string { return "https://" + net.JoinHostPort(hostIP, apiPort) }

// check returns an error if the cluster cannot run in the state directory.
func (c cluster) check() error {
	// The path of a unix socket has 108 bytes in sockaddr_un, and the last one is 0.
	if s := c.socket(nodes()[0]); len(s) > 107 {
		return fmt.Errorf("state directory %s: the path of the socket %s has %d bytes, more than 107: set MUSTER_CLUSTER_DIR to a shorter path", c.dir, s, len(s))
	}
	// Each node mounts its own empty /run over the machine's.
	if rel, err := filepath.Rel("/run", c.dir); err == nil && !startsWithDots(rel) {
		return fmt.Errorf("state directory %s: must not be below /run, because each node mounts its own /run", c.dir)
	}
	return nil
}

func startsWithDots(rel string) bool { return len(rel) >= 2 && rel[:2] == ".." }

// nodeNamed returns the node with a name.
func nodeNamed(name string) (node, error) {
	for _, n := range nodes() {
		if n.name == name {
			return n, nil
		}
	}
	return node{}, fmt.Errorf("no node %q: use node1 or node2", name)
}

// say prints progress, one line for each step: " • ..." while it runs, " ✓ ...  (1.2s)" or " ✗ ..." when it has ended.
type say struct {
	out io.Writer
}

// step runs do, and prints the step's name and duration. It returns do's error unchanged.
func (s say) step(what string, do func() error) error {
	fmt.Fprintf(s.out, " • %s\n", what)
	begin := time.Now()
	if err := do(); err != nil {
		fmt.Fprintf(s.out, " ✗ %s  (%s)\n", what, seconds(time.Since(begin)))
		return err
	}
	fmt.Fprintf(s.out, " ✓ %s  (%s)\n", what, seconds(time.Since(begin)))
	return nil
}

// done prints a step without a duration.
func (s say) done(format string, args ...any) {
	fmt.Fprintf(s.out, " ✓ %s\n", fmt.Sprintf(format, args...))
}

func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// status prints one line for each component: whether it runs, its pid, its resident memory. It returns an error if
// a component is not running or a node is not Ready.
func (c cluster) status(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "COMPONENT\tSTATE\tPID\tMEMORY\tLOG")
	complete := true
	for _, name := range controlPlane() {
		i, _, ok := c.running(name)
		complete = ok && complete
		statusLine(w, name, i, ok, c.logFile(name))
	}
	a, apiErr := c.api()
	for _, n := range nodes() {
		init, _, ok := c.running(n.name)
		complete = ok && complete
		statusLine(w, n.name, init, ok, c.logFile(n.name))
		if !ok {
			continue
		}
		running := programs(init)
		for _, p := range c.nodePrograms(n) {
			i, ok := running[p.name]
			complete = ok && complete
			statusLine(w, "  "+p.name, i, ok, p.log)
		}
		ready, why := false, "the API server's keys are missing"
		if apiErr == nil {
			var err error
			if ready, why, err = a.condition(n.name); err != nil {
				why = err.Error()
			}
		}
		complete = ready && complete
		fmt.Fprintf(w, "  Ready\t%v\t\t\t%s\n", ready, why)
	}
	w.Flush()
	if !complete {
		return errors.New("some components are not running: run `up` to start them")
	}
	fmt.Fprintf(out, "\n   export KUBECONFIG=%s\n", c.kubeconfig())
	return nil
}

func statusLine(w io.Writer, name string, i identity, ok bool, log string) {
	if !ok {
		fmt.Fprintf(w, "%s\tnot running\t\t\t%s\n", name, log)
		return
	}
	state := "running"
	if s, err := readStat(i.pid); err == nil && s.state == 'T' {
		state = "stopped"
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", name, state, i.pid, residentMemory(i.pid), log)
}

func residentMemory(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return fmt.Sprintf("%d MiB", kib>>10)
		}
	}
	return ""
}

// certificates returns the certificates of the whole cluster. Kubernetes' default RBAC rules expect these user names.
func certificates() []keys.Certificate {
	list := []keys.Certificate{
		{File: "apiserver", User: "kube-apiserver", Names: []string{"127.0.0.1", serviceIP, hostIP, "localhost", "kubernetes",
			"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}},
		{File: "admin", User: "admin", Group: "system:masters"},
		{File: "apiserver-kubelet", User: "kube-apiserver-kubelet-client", Group: "system:masters"},
		{File: "kube-controller-manager", User: "system:kube-controller-manager"},
		{File: "kube-scheduler", User: "system:kube-scheduler"},
		{File: "kube-proxy", User: "system:kube-proxy"},
		{File: "coredns", User: "system:coredns"},
	}
	for _, n := range nodes() {
		list = append(list, keys.Certificate{File: n.name, User: "system:node:" + n.name, Group: "system:nodes", Names: []string{n.name, n.ip}})
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
