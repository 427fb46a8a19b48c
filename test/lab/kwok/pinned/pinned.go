//go:build tools

// Package kwok pins the version of kwok. Nothing is compiled from this package: its import keeps
// the program in go.mod and go.sum, so that a plain `go build` finds it.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
