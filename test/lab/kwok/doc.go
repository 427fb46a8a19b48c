// Package kwok has kwok play nodes of a cluster: their pods run at once, and do
// nothing. Their taint keeps others away.
//
// kwok is built once into the cluster's directory, out of a module of its own
// (./pinned). It leaves addresses and the kubelet's port alone that a node has
// from its maker, so that a test may serve pods/exec for it.
package kwok
