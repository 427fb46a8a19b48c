// Package v1alpha1 holds the LaunchJob, the one kind of the group muster.dev: its spec, which the
// user writes, and its status, which the controller writes. docs/guides/launchjob.md is its manual.
//
// It contains only types and markers. The CRD with its validation rules, and the deep copies, are
// generated from them:
//
//	make generate
//
// The API server validates everything that one object shows, and answers with a sentence when it is
// applied. What depends on the cluster or on pod templates, the controller reports in the status.
//
// +kubebuilder:object:generate=true
// +groupName=muster.dev
package v1alpha1
