//go:build tools

// Package kueue pins the manager of Kueue. Nothing is compiled from this package: its import keeps the program in
// go.mod and go.sum, so that a plain `go build` finds it. The module also has Kueue's custom resources.
package kueue

import (
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
