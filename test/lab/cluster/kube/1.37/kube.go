//go:build tools

// Package kube pins the Kubernetes commands that the test cluster runs. Nothing is compiled from this
// package: its imports keep the commands in go.mod and go.sum, so that a plain `go build` finds them.
package kube

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
