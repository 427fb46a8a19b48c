//go:build tools

// Package volcano pins the Volcano commands that test/lab/gang runs. Nothing is
// compiled from this package: its imports keep the commands in go.mod and go.sum,
// so that a plain `go build` finds them. The module also has Volcano's custom resources.
package volcano

import (
	_ "volcano.sh/volcano/cmd/controller-manager"
	_ "volcano.sh/volcano/cmd/scheduler"
)
