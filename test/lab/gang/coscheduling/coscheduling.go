//go:build tools

// Package coscheduling pins the commands of scheduler-plugins that test/lab/gang
// runs, like the package volcano does for Volcano.
package coscheduling

import (
	_ "sigs.k8s.io/scheduler-plugins/cmd/controller"
	_ "sigs.k8s.io/scheduler-plugins/cmd/scheduler"
)
