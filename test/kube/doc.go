// Package kube is what test/frameworks and test/heal need of a cluster: kubectl,
// and the objects that jobs of plain pods begin with.
package kube
