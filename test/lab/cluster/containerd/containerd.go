//go:build tools

// Package containerd pins the programs of containerd that the nodes run. Nothing is compiled from this package: its
// imports keep the programs in go.mod and go.sum, so that a plain `go build` finds them.
package containerd

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
)
