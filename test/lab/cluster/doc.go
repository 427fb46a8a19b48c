// Command cluster runs a real Kubernetes with two nodes on one Linux machine. etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and CoreDNS run on the machine itself. Each node runs containerd, kubelet and
// kube-proxy in its own network, PID, mount and UTS namespaces.
//
// It needs a Debian machine (12 or later) with Go, and root. releases.go has the versions of Kubernetes. Kubernetes,
// CoreDNS, containerd, runc and etcd are built from the Go modules that the folders of these names pin. For
// Kubernetes 1.34 the last three are Debian's. Everything else is in Debian's packages, which `up` installs. README.md
// lists the verbs.
//
// It guarantees:
//   - up starts components that are not running and does not touch the others, so running it twice is harmless.
//   - Everything is below one directory: $MUSTER_CLUSTER_DIR, or $XDG_CACHE_HOME/muster/cluster, or
//     ~/.cache/muster/cluster. Outside of it are, while the cluster is up, the bridge muster0 and a veth for each
//     node. There are also three routes, the iptables chain MUSTER-CLUSTER, cgroups below /k8s.io, and empty
//     directories as mount points. down removes them.
//   - Processes are ended by pid and start time, never by name.
//   - All addresses are in 198.18.0.0/15, and no packet with such an address leaves through the interface of a default
//     route.
//   - An error names the failed component and has the last lines of its log. A timeout names the condition.
//   - Each version of Kubernetes has its own contents, keys and logs, in a directory of its own. Only one of them runs:
//     up stops a running cluster of another version first.
//   - If KUBECONFIG names another cluster, that cluster is used: nothing is built or started here.
//
// There is no registry: images are loaded from files. Names and addresses outside cannot be reached. down ends all
// pods. The nodes share the machine's CPU and memory.
//
// Some verbs break things on purpose:
//   - kill, stop, continue and restart the API server;
//   - power a node off and on: its cable is cut first, so that no FIN or RST gets out, then its PID 1 is killed with
//     all of its processes;
//   - unplug and plug a node;
//   - kill and restart a node's kubelet, containerd and kube-proxy.
package main
