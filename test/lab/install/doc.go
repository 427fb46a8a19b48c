// Command install writes install.yaml, images.txt and the Helm chart from the output of
// kustomize for images/deploy, which is the single source:
//
//	kubectl kustomize images/deploy | test/lab/run install
//	controller-gen crd output:stdout | test/lab/run install crd
//
// The second command trims the CRD. It is in the chart, because a chart can only read its own files. The chart
// differs from install.yaml only in its values. If namespaces are set, the controller has Roles in these instead of a
// ClusterRole.
//
// The tests in live install these on a cluster.
package main
