// Package v1alpha1 holds the LaunchJob, the one kind of the group muster.dev:
// what the user writes, and what the controller answers. docs/launchjob.md is its
// manual.
//
// It is types and markers only. The CRD, with the rules that the API server
// judges a LaunchJob by, and the deep copies are made from them:
//
//	make generate
//
// Everything that can be judged by looking at one object is judged by the API
// server when it is applied, in a sentence; what needs a look at the cluster, or
// into pod templates, is said by the controller in the status.
//
// +kubebuilder:object:generate=true
// +groupName=muster.dev
package v1alpha1
