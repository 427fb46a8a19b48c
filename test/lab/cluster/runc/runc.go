//go:build tools

// Package runc pins the runc that containerd 2 runs. Nothing is compiled from this package: its import keeps runc in
// go.mod and go.sum, so that a plain `go build` finds it.
package runc

import _ "github.com/opencontainers/runc"
