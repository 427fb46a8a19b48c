//go:build tools

// Package kueue pins the manager of Kueue that test/lab/gang runs, like the package
// volcano does for Volcano.
package kueue

import (
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
