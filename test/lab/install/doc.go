// Command install writes install.yaml, images.txt and the Helm chart out of what
// kustomize makes of images/deploy, the one source of all:
//
//	kubectl kustomize images/deploy | test/lab/run install
//	controller-gen crd output:stdout | test/lab/run install crd
//
// The second trims the CRD for it. The chart differs in what a chart can be told,
// its values. With namespaces the controller has Roles there in place of a
// ClusterRole.
//
// The tests in live install these on a cluster.
package main
