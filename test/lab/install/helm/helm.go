//go:build tools

// Package helm pins the version of Helm that the tests of test/lab/install/live run. Nothing is compiled from this
// package: its import keeps the program in go.mod and go.sum.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
