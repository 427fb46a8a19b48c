// Package kwok simulates nodes of a cluster with kwok. Their pods become Running at once, and do
// nothing. A taint keeps other pods away.
//
// kwok is built once into the cluster's directory, from a module of its own
// (./pinned). It does not change addresses and the kubelet's port that the creator of a node
// has set, so a test may serve pods/exec for the node.
package kwok
