//go:build tools

// Package krew pins the krew that release-check runs. Nothing is compiled from this package: its import
// keeps the program in go.mod and go.sum.
package krew

import _ "sigs.k8s.io/krew/cmd/krew"
