package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

// up starts all components that are not running.
func (c cluster) up() error {
	begin := time.Now()
	if err := c.installPackages(); err != nil {
		return err
	}
	if err := c.build(); err != nil {
		return err
	}
	if err := c.replace(owner()); err != nil {
		return err
	}
	if err := c.remember(); err != nil {
		return err
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"room on the disk", c.room},
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
	c.say.done("Kubernetes %s with %d nodes is up  (%s)", c.release.kubernetes, len(nodes()), seconds(time.Since(begin)))
	fmt.Fprintf(c.say.out, "\n   export KUBECONFIG=%s\n   kubectl: %s\n", c.kubeconfig(), c.program("kubectl"))
	return nil
}

// room refuses a disk that is nearly full. Its kubelets would evict pods and take no new ones, in the middle of a test.
func (c cluster) room() error {
	const least = 3e9 // for the images of the tests and for what their pods write
	var fs syscall.Statfs_t
	if err := syscall.Statfs(c.base, &fs); err != nil {
		return fmt.Errorf("statfs %s: %w", c.base, err)
	}
	if free := float64(fs.Bavail) * float64(fs.Bsize); free < least {
		return fmt.Errorf("%s has %.1f GB free, and the tests need %.0f GB", c.base, free/1e9, least/1e9)
	}
	return nil
}

// replace stops the cluster of another release, because a machine can have only one. Its contents stay for its next up.
func (c cluster) replace(running string) error {
	if running == "" || running == c.dir || !ours(c.base, running) {
		return nil // networkUp refuses to replace a cluster that is not below base
	}
	return c.say.step("stopping the cluster of "+running, func() error {
		return cluster{base: c.base, dir: running, say: say{io.Discard}}.down("")
	})
}

// remember stores this program, which is PID 1 of nodes, and the --fast setting for later verbs.
func (c cluster) remember() error {
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	// writeFile renames a temporary file, because the old file may be running.
	if err := keys.WriteFile(c.self(), exe, 0o755); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	if c.fast {
		return keys.WriteFile(c.fastMark(), nil, 0o644)
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

// nodesUp boots all nodes at the same time, and then waits for each.
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

// down stops everything, and removes everything outside the state directory. It also removes a directory, if one is
// given.
func (c cluster) down(remove string) error {
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
		errs = append(errs, c.say.step(names[i]+" stopped", func() error { return c.stop(names[i]) }))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if other := owner(); other != "" && other != c.dir {
		c.say.done("keeping the network, which belongs to the cluster of %s", other)
	} else {
		errs = append(errs, c.say.step("network, mount points and cgroups removed", func() error { return errors.Join(networkDown(), c.leftovers()) }))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if remove == "" {
		return nil
	}
	return c.say.step("removed "+remove, func() error { return os.RemoveAll(remove) })
}

// leftovers removes cgroups, and the empty directories on the machine that were mount points.
func (c cluster) leftovers() error {
	for _, n := range nodes() {
		removeCgroups(c.nodeDir(n))
	}
	parents, err := filepath.Glob("/sys/fs/cgroup/*/k8s.io")
	if err != nil {
		return err
	}
	// Remove fails for directories that are not empty: other programs use them. It does not fail if another mount
	// namespace has a mount on the directory, and would undo that mount, so all nodes must be off.
	for _, dir := range append(parents, append(ownDirs(), "/sys/fs/cgroup/k8s.io")...) {
		os.Remove(dir)
	}
	return nil
}

// controlPlane returns the components that run on the machine itself, in the order in which they start.
func controlPlane() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "coredns"}
}

// argv returns the command line of a component of the control plane.
func (c cluster) argv(name string) []string {
	return append(c.commonArgv(name), c.release.flags[name]...)
}

// commonArgv returns the part that all releases have in common.
func (c cluster) commonArgv(name string) []string {
	kubeconfig := "--kubeconfig=" + c.path("run", name+".kubeconfig")
	switch name {
	case "etcd":
		return []string{c.program(name), "--name=muster", "--data-dir=" + c.path("etcd"), "--listen-client-urls=" + etcdClient, "--advertise-client-urls=" + etcdClient,
			"--listen-peer-urls=" + etcdPeer, "--initial-advertise-peer-urls=" + etcdPeer, "--initial-cluster=muster=" + etcdPeer}
	case "kube-apiserver":
		return c.apiServerArgv()
	case "kube-controller-manager":
		argv := []string{c.program(name), kubeconfig, "--bind-address=127.0.0.1", "--leader-elect=false",
			"--controllers=*,-node-ipam-controller", "--use-service-account-credentials",
			"--service-account-private-key-file=" + c.pki("service-account.key"), "--root-ca-file=" + c.pki("ca.crt"),
			"--cluster-signing-cert-file=" + c.pki("ca.crt"), "--cluster-signing-key-file=" + c.pki("ca.key")}
		if c.fast {
			argv = append(argv, "--node-monitor-grace-period=8s", "--node-monitor-period=1s")
		}
		return argv
	case "kube-scheduler":
		return []string{c.program(name), kubeconfig, "--bind-address=127.0.0.1", "--leader-elect=false"}
	case "coredns":
		return []string{c.program(name), "-conf", c.path("run", "Corefile")}
	}
	return nil // start reports an error
}

func (c cluster) apiServerArgv() []string {
	argv := []string{c.program("kube-apiserver"),
		"--etcd-servers=" + etcdClient,
		// The nodes' address instead of loopback, so that pods reach it through the service network, and a kill resets
		// their connections.
		"--bind-address=" + hostIP, "--advertise-address=" + hostIP, "--secure-port=" + apiPort,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--client-ca-file=" + c.pki("ca.crt"), "--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--kubelet-certificate-authority=" + c.pki("ca.crt"), "--kubelet-client-certificate=" + c.pki("apiserver-kubelet.crt"),
		"--kubelet-client-key=" + c.pki("apiserver-kubelet.key"), "--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.pki("service-account.pub"), "--service-account-signing-key-file=" + c.pki("service-account.key"),
		"--service-cluster-ip-range=" + serviceSubnet,
		// kube-proxy runs only on the nodes, so webhooks and aggregated APIs are called at a pod's address.
		"--enable-aggregator-routing=true"}
	argv = append(argv, c.auditFlags()...)
	if c.fast {
		argv = append(argv, "--default-not-ready-toleration-seconds=5", "--default-unreachable-toleration-seconds=5")
	}
	return argv
}

// corefile returns CoreDNS' configuration. It answers for services and pods, and says at once that any other name does
// not exist. There is no network beyond the cluster, and a slow resolver costs mpirun half a second for each name.
func corefile(kubeconfig string) []byte {
	return fmt.Appendf(nil, `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
  bind %[1]s
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig %[2]s
    pods insecure
    ttl 5
  }
  cache 5
}
.:53 {
  bind %[1]s
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`, hostIP, kubeconfig)
}

const corednsRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: system:coredns}
rules:
- {apiGroups: [""], resources: [services, pods, namespaces, nodes], verbs: [get, list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: system:coredns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:coredns}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: system:coredns}]
`

// writeConfiguration writes keys, kubeconfigs and files of the control plane.
func (c cluster) writeConfiguration() error {
	if err := c.keys().Make(certificates()); err != nil {
		return err
	}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler", "coredns"} {
		if err := c.writeKubeconfig(c.path("run", name+".kubeconfig"), name); err != nil {
			return err
		}
	}
	if err := c.writeKubeconfig(c.kubeconfig(), "admin"); err != nil {
		return err
	}
	if err := os.MkdirAll(c.path("etcd"), 0o700); err != nil {
		return err
	}
	if err := keys.WriteFile(c.auditPolicy(), []byte(auditRules), 0o644); err != nil {
		return err
	}
	return keys.WriteFile(c.path("run", "Corefile"), corefile(c.path("run", "coredns.kubeconfig")), 0o644)
}

// startControllers starts the components that need the API server.
func (c cluster) startControllers() error {
	for _, name := range controlPlane()[2:] {
		started, err := c.start(name, c.argv(name), nil)
		if err != nil {
			return err
		}
		if started && name == "coredns" {
			if err := c.apply(corednsRole); err != nil {
				return fmt.Errorf("allow coredns to read: %w", err)
			}
		}
	}
	a, err := c.api()
	if err != nil {
		return err
	}
	return c.await("the service account of namespace default", time.Minute, func() error {
		return a.get("/api/v1/namespaces/default/serviceaccounts/default", nil)
	}, "kube-controller-manager", "kube-scheduler")
}

// apply passes manifests to kubectl apply.
func (c cluster) apply(manifests string) error {
	cmd := c.kubectl("apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w\n%s", err, tail(out, 10))
	}
	return nil
}

func (c cluster) kubectl(args ...string) *exec.Cmd {
	return exec.Command(c.program("kubectl"), append([]string{"--kubeconfig=" + c.kubeconfig()}, args...)...)
}

// auditLog is the path of the API server's audit log. It has a line for each completed request: user agent, user,
// verb, object and response code, but no bodies. The log is rotated at 64 MiB, and one old file is kept.
func (c cluster) auditLog() string    { return c.path("log", "audit.log") }
func (c cluster) auditPolicy() string { return c.path("run", "audit-policy.yaml") }

func (c cluster) auditFlags() []string {
	return []string{"--audit-policy-file=" + c.auditPolicy(), "--audit-log-path=" + c.auditLog(),
		"--audit-log-maxsize=64", "--audit-log-maxbackup=1",
		// Each line is written before the response, so that a client finds the line of its request, even if the API server
		// is killed.
		"--audit-log-mode=blocking"}
}

// auditRules exclude leases and the cluster's own requests, which are nearly all. Watches are included, because
// a rejected watch is a result, too. A request has one line, at its end.
const auditRules = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- {level: None, userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]}
- {level: None, users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy", "system:coredns"]}
- {level: None, resources: [{group: coordination.k8s.io, resources: [leases]}]}
- {level: None, nonResourceURLs: ["/readyz*", "/livez*", "/healthz*", "/metrics", "/openapi/*"]}
- {level: Metadata}
`
