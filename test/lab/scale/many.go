//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/lab/kwok"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// podsPerJob counts a launcher and three workers.
const podsPerJob = 4

// quiet is the time for the controller's last requests about the jobs, after all jobs run
// and before the requests are counted.
const quiet = 5 * time.Second

// crowd is the cost of a number of jobs until all of them run.
type crowd struct {
	Jobs, PodsPerJob         int
	PodsCreated              float64 // seconds from the first apply
	PodsRunning, JobsRunning float64 // seconds from the first apply
	Requests                 map[string]int
	RequestsPerJob           float64
	CPUSeconds               float64 // of the controller, until quiet was over
	PeakMB                   float64 // of the controller, since its start
}

// many runs jobs on simulated nodes, first some of them alone and then all at the same time, each time
// in a namespace of their own. The jobs stay until the end.
func (w *world) many(ctx context.Context, o options) error {
	var spaces []string
	for i := range o.jobsAlone {
		spaces = append(spaces, fmt.Sprintf("scale-alone-%d", i))
	}
	spaces = append(spaces, "scale-many")
	controller, err := w.stage(ctx, o, "scale-many", spaces...)
	if err != nil {
		return err
	}
	var alone []crowd
	for _, space := range spaces[:o.jobsAlone] {
		c, err := w.crowd(ctx, space, 1, podsPerJob, controller)
		if err != nil {
			return err
		}
		alone = append(alone, c)
	}
	all, err := w.crowd(ctx, "scale-many", o.jobs, podsPerJob, controller)
	if err != nil {
		return err
	}
	return recordMany(alone, all)
}

// stage starts kwok, makes namespaces, and starts the controller.
func (w *world) stage(ctx context.Context, o options, name string, spaces ...string) (*program.Process, error) {
	dir, err := figure.Dir()
	if err != nil {
		return nil, err
	}
	if err := w.play(ctx, o.nodes, filepath.Join(dir, "raw", name+"-kwok.log")); err != nil {
		return nil, err
	}
	if err := w.Spaces(ctx, "restricted", spaces...); err != nil {
		return nil, err
	}
	// Started last, so that it stops first and does not create pods again that are deleted with their namespace.
	return w.Controller(ctx, o.bin, filepath.Join(dir, "raw", name+"-controller.log"))
}

// crowd applies jobs, and waits until they run.
func (w *world) crowd(ctx context.Context, space string, jobs, pods int, controller *program.Process) (c crowd, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	seen, err := w.Follow(ctx, space)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, seen.Close()) }()
	before, err := controller.Usage()
	if err != nil {
		return c, err
	}
	applied := time.Now()
	for i := range jobs {
		job, err := w.job(space, fmt.Sprintf("job-%d", i), int32(pods-1))
		if err != nil {
			return c, err
		}
		onPlayed(job)
		if err := w.Client.Create(ctx, job); err != nil {
			return c, fmt.Errorf("apply: %w", err)
		}
	}
	if err := seen.Until(ctx, "pods and jobs to run", func() bool {
		return len(seen.Running) == jobs*pods && seen.InPhase(v1alpha1.PhaseRunning) == jobs
	}); err != nil {
		return c, err
	}
	c = crowd{Jobs: jobs, PodsPerJob: pods, PodsCreated: measure.Last(seen.Created).Sub(applied).Seconds(), PodsRunning: measure.Last(seen.Running).Sub(applied).Seconds(), JobsRunning: time.Since(applied).Seconds()}
	if err := await.Pause(ctx, quiet); err != nil {
		return c, err
	}
	after, err := controller.Usage()
	if err != nil {
		return c, err
	}
	c.CPUSeconds, c.PeakMB = after.CPUSeconds-before.CPUSeconds, after.PeakMB
	requests, err := audit.Since(w.Audit, applied)
	if err != nil {
		return c, err
	}
	ours := audit.Of(requests, "muster-controller", space)
	c.Requests, c.RequestsPerJob = audit.Count(ours), float64(len(ours))/float64(jobs)
	w.Say("%s: %+v", space, c)
	return c, nil
}

func recordMany(alone []crowd, all crowd) error {
	sum := 0.0 // the number of status updates of a single job varies by one, depending on when its pods start
	for _, c := range alone {
		sum += c.RequestsPerJob
	}
	one := sum / float64(len(alone))
	name := fmt.Sprintf("%d LaunchJobs of %d pods on kwok nodes: ", all.Jobs, podsPerJob)
	value := func(unit string, v float64) figure.Series {
		return figure.Series{Unit: unit, Reduce: "last", Samples: []float64{v}}
	}
	return errors.Join(
		record("scale-many", map[string]any{
			"alone": alone, "all": all,
			"pods": value("s", all.PodsRunning), "jobs": value("s", all.JobsRunning),
			"memory": value("MB", all.PeakMB), "cpu": value("s", all.CPUSeconds),
			"requests": value("requests", all.RequestsPerJob), "one": value("requests", one),
			"over one": figure.Series{Unit: "of one job's", Reduce: "ratio", Samples: []float64{all.RequestsPerJob}, Over: []float64{one}},
		},
			figure.Row{Name: name + "apply to all pods Running", Log: "pods"},
			figure.Row{Name: name + "apply to all jobs Running", Log: "jobs"},
			figure.Row{Name: name + "controller's memory at its peak", Log: "memory", Op: "<=", Bar: 100},
			figure.Row{Name: name + "controller's CPU time", Log: "cpu"},
			figure.Row{Name: name + "controller's requests per job", Log: "requests"},
			figure.Row{Name: fmt.Sprintf("one LaunchJob of %d pods on kwok nodes: controller's requests, mean", podsPerJob), Log: "one"},
			figure.Row{Name: name + "controller's requests per job, over one job's", Log: "over one", Op: "<=", Bar: 1},
		))
}

// play runs kwok to simulate nodes.
func (w *world) play(ctx context.Context, nodes int, log string) error {
	var list []*corev1.Node
	for i := range nodes {
		list = append(list, kwok.Node(i))
	}
	stop, err := kwok.Play(ctx, w.Client, list, log)
	w.Later("stop simulated nodes", stop)
	return err
}

// onPlayed restricts a job's pods to simulated nodes.
func onPlayed(job *v1alpha1.LaunchJob) {
	for _, t := range []*corev1.PodTemplateSpec{&job.Spec.Launcher.Template, &job.Spec.Roles[0].Template} {
		t.Spec.NodeSelector = map[string]string{kwok.Played: "true"}
		t.Spec.Tolerations = []corev1.Toleration{{Key: kwok.Played, Operator: corev1.TolerationOpExists}}
	}
}
