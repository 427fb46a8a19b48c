//go:build tools

// Package kueue pins the manager of Kueue that test/lab/gang runs, as its neighbour
// volcano does for Volcano's commands.
package kueue

import (
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
