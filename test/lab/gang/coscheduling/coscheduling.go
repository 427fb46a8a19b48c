//go:build tools

// Package coscheduling pins the commands of scheduler-plugins that test/lab/gang
// runs, as its neighbour volcano does for Volcano's.
package coscheduling

import (
	_ "sigs.k8s.io/scheduler-plugins/cmd/controller"
	_ "sigs.k8s.io/scheduler-plugins/cmd/scheduler"
)
