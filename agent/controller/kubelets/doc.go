// Package kubelets finds out whether all nodes of a cluster can mount an image as a volume, so that the
// controller can choose how the agent gets into pods.
//
// A control plane is upgraded before its nodes, so the API server's version does not answer that. The
// package reads the table that kubectl get nodes prints: two words for each node instead of the whole
// object. It reads it at most once in ten minutes. Without the right to list nodes, or with an old
// node among them, the answer is no, and an init container copies the agent.
package kubelets
