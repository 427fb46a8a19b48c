//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// launch holds the times of a launch, in seconds.
type launch struct {
	Scheduling, Start, Rendezvous, Launch float64 // consecutive parts
	FirstLine, Succeeded                  float64 // from apply
}

// launches runs jobs one after the other, and records times and responses with 403.
func (w *world) launches(ctx context.Context, o options) error {
	const space = "scale-launches"
	if err := w.Spaces(ctx, "restricted", space); err != nil {
		return err
	}
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	from := time.Now()
	if _, err := w.Controller(ctx, o.bin, filepath.Join(dir, "raw", "scale-launches-controller.log")); err != nil {
		return err
	}
	var all []launch
	for i := range o.launches {
		l, err := w.launch(ctx, space, fmt.Sprintf("hello-%d", i), o.workers)
		if err != nil {
			return err
		}
		w.Say("launch %d: %+v", i+1, l)
		all = append(all, l)
	}
	requests, err := audit.Since(w.Audit, from)
	if err != nil {
		return err
	}
	denied := audit.Forbidden(requests, space)
	for _, r := range denied {
		w.Say("403: %+v", r)
	}
	return recordLaunches(o, all, denied)
}

func recordLaunches(o options, all []launch, denied []audit.Request) error {
	of := func(unit, reduce string, get func(launch) float64) figure.Series {
		s := figure.Series{Unit: unit, Reduce: reduce}
		for _, l := range all {
			s.Samples = append(s.Samples, get(l))
			if reduce == "ratio" {
				s.Over = append(s.Over, l.FirstLine)
			}
		}
		return s
	}
	share := func(get func(launch) float64) figure.Series { return of("of that", "ratio", get) }
	job := fmt.Sprintf("LaunchJob of %d workers, apply to first rank's line", o.workers)
	return errors.Join(
		record("scale-launches", map[string]any{
			"denied": len(denied), "requests denied": denied, "launches": all,
			"first line": of("s", "median", func(l launch) float64 { return l.FirstLine }),
			"succeeded":  of("s", "median", func(l launch) float64 { return l.Succeeded }),
			"scheduling": share(func(l launch) float64 { return l.Scheduling }),
			"start":      share(func(l launch) float64 { return l.Start }),
			"rendezvous": share(func(l launch) float64 { return l.Rendezvous }),
			"launch":     share(func(l launch) float64 { return l.Launch }),
		},
			figure.Row{Name: fmt.Sprintf("answers 403 met by %d launches of %d workers", o.launches, o.workers), Log: "denied", Op: "=="},
			figure.Row{Name: job, Log: "first line"},
			figure.Row{Name: job + ": share of scheduling", Log: "scheduling"},
			figure.Row{Name: job + ": share of container start", Log: "start"},
			figure.Row{Name: job + ": share of rendezvous", Log: "rendezvous"},
			figure.Row{Name: job + ": share of launch", Log: "launch"},
			figure.Row{Name: fmt.Sprintf("LaunchJob of %d workers, apply to Succeeded", o.workers), Log: "succeeded"},
		))
}

// launch runs one job to its end, and deletes it.
func (w *world) launch(ctx context.Context, space, name string, workers int) (l launch, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	job, err := w.job(space, name, int32(workers))
	if err != nil {
		return l, err
	}
	seen, err := w.Follow(ctx, space)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, seen.Close()) }()
	applied := time.Now()
	if err := w.Client.Create(ctx, job); err != nil {
		return l, fmt.Errorf("apply %s: %w", name, err)
	}
	over := func() bool { return seen.InPhase(v1alpha1.PhaseSucceeded)+seen.InPhase(v1alpha1.PhaseFailed) > 0 }
	if err := seen.Until(ctx, name+" to end", over); err != nil {
		return l, err
	}
	log, err := measure.Lines(ctx, space, name+"-launcher")
	if err != nil {
		return l, err
	}
	if n := len(seen.Running); seen.InPhase(v1alpha1.PhaseSucceeded) != 1 || n != workers+1 {
		return l, fmt.Errorf("%s: %d pods have run, phases %v; the launcher's log:\n%v", name, n, seen.Phases, log)
	}
	ready, line, err := stamps(log, fmt.Sprintf("%d/%d ready", workers, workers))
	if err != nil {
		return l, fmt.Errorf("%s: %w; the launcher's log:\n%v", name, err, log)
	}
	scheduled, running := measure.Last(seen.Scheduled), measure.Last(seen.Running)
	l = launch{
		Scheduling: scheduled.Sub(applied).Seconds(), Start: running.Sub(scheduled).Seconds(),
		Rendezvous: ready.Sub(running).Seconds(), Launch: line.Sub(ready).Seconds(),
		FirstLine: line.Sub(applied).Seconds(), Succeeded: seen.Phases[measure.Phase{Job: name, Name: v1alpha1.PhaseSucceeded}].Sub(applied).Seconds(),
	}
	if err := w.Client.Delete(ctx, job); err != nil {
		return l, err
	}
	_, err = kube.Kubectl(ctx, space, nil, "wait", "--for=delete", "pods", "-l", "muster.dev/job="+name, "--timeout=100s")
	return l, err
}

// stamps returns the times in a log at which all workers were ready, and of the first rank's line.
func stamps(log []measure.Line, allReady string) (ready, line time.Time, err error) {
	for _, l := range log {
		if ready.IsZero() && strings.Contains(l.Text, allReady) {
			ready = l.At
		}
		if line.IsZero() && strings.HasPrefix(l.Text, "rank ") {
			line = l.At
		}
	}
	if ready.IsZero() || line.IsZero() {
		return ready, line, fmt.Errorf("read log: no %q, or no rank's line", allReady)
	}
	return ready, line, nil
}

// job returns the LaunchJob of the end-to-end tests, with another name.
func (w *world) job(space, name string, workers int32) (*v1alpha1.LaunchJob, error) {
	text, err := os.ReadFile(filepath.Join(w.Root, "test/e2e/manifests/launchjob.yaml"))
	if err != nil {
		return nil, err
	}
	job := &v1alpha1.LaunchJob{}
	if err := yaml.UnmarshalStrict(text, job); err != nil {
		return nil, err
	}
	job.Namespace, job.Name, job.Spec.Workers = space, name, &workers
	job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: "None"}
	job.Spec.Launcher.Template.Spec.Containers[0].Command = []string{"mpirun", "/opt/muster-test/hello"}
	return job, nil
}
