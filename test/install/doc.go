// Command install writes install.yaml and the Helm chart out of what kustomize
// makes of images/deploy, the one source of all three:
//
//	kubectl kustomize images/deploy | go run ./test/install
//	controller-gen crd output:stdout | go run ./test/install crd
//
// The second trims the CRD for it. The chart differs in what a chart can be told:
// names of images, namespaces, replicas. With namespaces the controller has Roles
// there in place of a ClusterRole.
package main
