package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// controlPlane are the components that run on the machine itself, in the order of their start.
func controlPlane() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "coredns"}
}

// argv is the command line of a component of the control plane.
func (c cluster) argv(name string) []string {
	kubeconfig := "--kubeconfig=" + c.path("run", name+".kubeconfig")
	switch name {
	case "etcd":
		return []string{"/usr/bin/etcd", "--name=muster", "--data-dir=" + c.path("etcd"), "--listen-client-urls=" + etcdClient, "--advertise-client-urls=" + etcdClient,
			"--listen-peer-urls=" + etcdPeer, "--initial-advertise-peer-urls=" + etcdPeer, "--initial-cluster=muster=" + etcdPeer}
	case "kube-apiserver":
		return c.apiServerArgv()
	case "kube-controller-manager":
		argv := []string{c.kubeBin(name), kubeconfig, "--bind-address=127.0.0.1", "--leader-elect=false", plainLists,
			"--controllers=*,-nodeipam,-cloud-node-lifecycle", "--use-service-account-credentials",
			"--service-account-private-key-file=" + c.pki("service-account.key"), "--root-ca-file=" + c.pki("ca.crt"),
			"--cluster-signing-cert-file=" + c.pki("ca.crt"), "--cluster-signing-key-file=" + c.pki("ca.key")}
		if c.fast {
			argv = append(argv, "--node-monitor-grace-period=8s", "--node-monitor-period=1s")
		}
		return argv
	case "kube-scheduler":
		return []string{c.kubeBin(name), kubeconfig, "--bind-address=127.0.0.1", "--leader-elect=false", plainLists}
	case "coredns":
		return []string{c.coredns(), "-conf", c.path("run", "Corefile")}
	}
	return nil // start refuses it
}

// plainLists: with streamed lists the scheduler and the controllers of 1.34
// hardly do anything for a minute or more after the API server was restarted.
const plainLists = "--feature-gates=WatchListClient=false"

func (c cluster) apiServerArgv() []string {
	argv := []string{c.kubeBin("kube-apiserver"),
		"--etcd-servers=" + etcdClient,
		// The nodes' address, not loopback: pods reach it through the service network, and a kill resets their connections.
		"--bind-address=" + hostIP, "--advertise-address=" + hostIP, "--secure-port=" + apiPort,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--client-ca-file=" + c.pki("ca.crt"), "--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--kubelet-certificate-authority=" + c.pki("ca.crt"), "--kubelet-client-certificate=" + c.pki("apiserver-kubelet.crt"),
		"--kubelet-client-key=" + c.pki("apiserver-kubelet.key"), "--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.pki("service-account.pub"), "--service-account-signing-key-file=" + c.pki("service-account.key"),
		"--service-cluster-ip-range=" + serviceSubnet,
		// kube-proxy runs on the nodes only: webhooks and aggregated APIs are called at a pod's address.
		"--enable-aggregator-routing=true"}
	// Streamed lists need an etcd 3.5, and Debian's is 3.4: each would be refused once it has begun. kwok, whose watches
	// are taken for such lists, would begin anew again and again, with pauses of up to half a minute.
	argv = append(append(argv, "--feature-gates=WatchList=false"), c.auditFlags()...)
	if c.fast {
		argv = append(argv, "--default-not-ready-toleration-seconds=5", "--default-unreachable-toleration-seconds=5")
	}
	return argv
}

// corefile answers for services and pods, and says at once that any other name does not exist: there is no network
// beyond the cluster, and a resolver that waits costs mpirun half a second a name.
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
	if err := c.makePKI(); err != nil {
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
	if err := writeFile(c.auditPolicy(), []byte(auditRules), 0o644); err != nil {
		return err
	}
	return writeFile(c.path("run", "Corefile"), corefile(c.path("run", "coredns.kubeconfig")), 0o644)
}

// startControllers starts what needs the API server.
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

// apply hands manifests to kubectl apply.
func (c cluster) apply(manifests string) error {
	cmd := c.kubectl("apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w\n%s", err, tail(out, 10))
	}
	return nil
}

func (c cluster) kubectl(args ...string) *exec.Cmd {
	return exec.Command(c.kubeBin("kubectl"), append([]string{"--kubeconfig=" + c.kubeconfig()}, args...)...)
}
