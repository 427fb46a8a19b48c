// Package plane runs control planes of Kubernetes on loopback, with simulated nodes. It needs no root, no
// containers and no cluster, and several planes may run at the same time.
//
// Each plane is etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, as child processes with ports
// of their own, keys of their own and a temporary directory. They end with the test program. The programs are those
// of test/lab/cluster, which builds missing ones.
//
//	plane.go    the processes: start, wait, stop
//	nodes.go    simulated nodes, and how long their pods run
//	muster.go   Muster's CRD, its rights, and its controller as a process
//
// Pods on simulated nodes become Running and Ready at once. A pod with the annotation EndsAfter succeeds after
// that time.
package plane
