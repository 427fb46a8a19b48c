//go:build tools

// Package dns pins the CoreDNS that the test cluster runs. Nothing is compiled from this package:
// its import keeps the command in go.mod and go.sum, so that a plain `go build` finds it.
package dns

import _ "github.com/coredns/coredns"
