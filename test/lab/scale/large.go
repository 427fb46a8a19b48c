//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/musterhq/muster/test/suite/figure"
)

// large runs one job of very many pods on simulated nodes. Its status is right when it says Running,
// which it does only if all pods run.
func (w *world) large(ctx context.Context, o options) error {
	controller, err := w.stage(ctx, o, "scale-large", "scale-large")
	if err != nil {
		return err
	}
	c, err := w.crowd(ctx, "scale-large", 1, o.pods, controller)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("one LaunchJob of %d pods on kwok nodes: ", o.pods)
	value := func(unit string, v float64) figure.Series {
		return figure.Series{Unit: unit, Reduce: "last", Samples: []float64{v}}
	}
	return errors.Join(record("scale-large", map[string]any{
		"all": c, "created": value("s", c.PodsCreated), "pods": value("s", c.PodsRunning), "job": value("s", c.JobsRunning),
		"memory": value("MB", c.PeakMB), "cpu": value("s", c.CPUSeconds), "requests": value("requests", c.RequestsPerJob),
	},
		figure.Row{Name: name + "apply to all pods created", Log: "created"},
		figure.Row{Name: name + "apply to all pods Running", Log: "pods"},
		figure.Row{Name: name + "apply to the job Running", Log: "job"},
		figure.Row{Name: name + "controller's memory at its peak", Log: "memory", Op: "<=", Bar: 250},
		figure.Row{Name: name + "controller's CPU time", Log: "cpu"},
		figure.Row{Name: name + "controller's requests", Log: "requests"},
	))
}
