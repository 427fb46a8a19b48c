// Command cluster runs a real Kubernetes with two nodes on one Linux machine: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, CoreDNS on the machine itself, and for each node containerd, kubelet and
// kube-proxy in network, PID, mount and UTS namespaces of its own.
//
// It takes a Debian machine (12 or later) with Go, and root. Kubernetes and CoreDNS are built from the Go modules that
// kube/go.mod and coredns/go.mod pin; the rest comes from Debian's packages, which `up` installs. README.md lists the verbs.
//
// It promises:
//   - up starts what does not run and leaves alone what does; twice in a row is one up.
//   - Everything is below one directory: $MUSTER_CLUSTER_DIR, else $XDG_CACHE_HOME/muster/cluster, else
//     ~/.cache/muster/cluster. Outside of it there are, while the cluster is up: the bridge muster0, a veth for each
//     node, three routes, the iptables chain MUSTER-CLUSTER, cgroups below /k8s.io, and empty directories to
//     mount on; down removes them.
//   - Processes are ended by pid and start time, never by name.
//   - All addresses are in 198.18.0.0/15, and nothing with such an address leaves through the interface of a default
//     route.
//   - A failure names the component and prints the last lines of its log; a wait that ended names what it waited for.
//   - If KUBECONFIG names another cluster, that one is used: nothing is built or started here.
//
// It will not: pull images (there is no registry; images are loaded from files), reach names or addresses outside, keep
// pods running over down, or isolate the nodes' CPU and memory from the machine's.
//
// Verbs that break things on purpose: the API server is killed, stopped, continued and started again; a node is powered
// off and on (its PID 1 is killed with every process of it, after its cable is cut, so that no FIN or RST gets
// out), unplugged and plugged in; a node's kubelet, containerd and kube-proxy are killed and started again.
package main
