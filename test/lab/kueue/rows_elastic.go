//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/lab/plane"
)

// fewer is the reason of jobs that run with fewer workers than they want.
const fewer = "FewerWorkers"

// between makes a job elastic.
func between(least, most int32) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.Elastic = &v1alpha1.Elastic{Min: least, Max: most} }
}

// sliced makes an elastic job use slices.
func sliced(j *v1alpha1.LaunchJob) {
	j.Annotations = map[string]string{kueueGroup + "/elastic-job": "true"}
}

// partial runs an elastic job of 4 workers with a queue of 3 GPUs, and another one that needs all 4.
func partial(ctx context.Context, w *world) error {
	if err := w.apply(ctx, w.ns, queue(w.ns, "any", 3)...); err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("all", workers)); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "all", "waiting", waits("insufficient quota for "+gpu)); err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("some", workers, between(2, 4))); err != nil {
		return err
	}
	pods, err := w.runs(ctx, "some", 4)
	if err != nil {
		return err
	}
	w.figure("workers of a job that wants 4, needs 2, and gets 3", len(pods)-1, "==", 3, "workers")
	job, err := w.job(ctx, w.site, "some")
	if err != nil {
		return err
	}
	w.see("%s", job.Status.Message)
	w.raw["status"] = job.Status
	w.figure("pods of the job that needs all 4", created(w.trace.since(0), "all"), "==", 0, "pods")
	if err := w.uses(ctx, 3); err != nil {
		return err
	}
	return w.end(ctx, "some")
}

// slicesOf scales an elastic job up, further than its queue has room for, and down. Pods that run stay.
func slicesOf(ctx context.Context, w *world) error {
	if err := w.apply(ctx, w.ns, queue(w.ns, "any", 6)...); err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("one", workers, between(2, 8), sliced)); err != nil {
		return err
	}
	first, err := w.runs(ctx, "one", members)
	if err != nil {
		return err
	}
	if err := errors.Join(w.uses(ctx, workers), w.scale(ctx, "one", 6)); err != nil {
		return err
	}
	began := time.Now()
	if err := w.grown(ctx, first, 7, 6); err != nil {
		return err
	}
	w.figure("seconds until two more workers run", time.Since(began).Seconds(), "<=", 30, "s")
	if err := w.scale(ctx, "one", 8); err != nil {
		return err
	}
	status, err := w.becomes(ctx, "one", "too large", func(j *v1alpha1.LaunchJob) bool { return j.Status.Reason == fewer })
	if err != nil {
		return err
	}
	w.see("%s: %s", status.Reason, status.Message)
	if err := errors.Join(w.grown(ctx, first, 7, 6), w.scale(ctx, "one", 3), w.grown(ctx, nil, 4, 3)); err != nil {
		return err
	}
	if err := w.scale(ctx, "one", 5); err != nil {
		return err
	}
	if err := w.grown(ctx, nil, 6, 5); err != nil {
		return err
	}
	job, err := w.job(ctx, w.site, "one")
	if err != nil {
		return err
	}
	w.figure("attempts of a job that was scaled four times", int(job.Status.Attempt), "==", 1, "attempts")
	if err := w.end(ctx, "one"); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "one", "over", inPhase(v1alpha1.PhaseSucceeded)); err != nil {
		return err
	}
	if err := w.uses(ctx, 0); err != nil {
		return err
	}
	live, err := w.workloads(ctx, w.site, "one")
	w.figure("slices that are not finished when the job is", len(live), "==", 0, "Workloads")
	return err
}

// scale sets the workers of a job, as kubectl scale does.
func (w *world) scale(ctx context.Context, job string, workers int) error {
	_, err := w.Kubectl(ctx, w.ns, nil, "scale", "launchjob", job, fmt.Sprintf("--replicas=%d", workers))
	return err
}

// grown waits until the job one has exactly n pods and its queue uses so many GPUs. The pods of kept are still there.
func (w *world) grown(ctx context.Context, kept map[string]corev1.Pod, n int, gpus int64) error {
	pods, err := w.runs(ctx, "one", n)
	if err != nil {
		return err
	}
	for name, p := range kept {
		if pods[name].UID != p.UID {
			return fmt.Errorf("%s was replaced when the job was scaled", name)
		}
	}
	return w.uses(ctx, gpus)
}

// reclaim runs a job without a launcher, two of whose four members end early. Another job of two gets their quota.
func reclaim(ctx context.Context, w *world) error {
	if err := w.apply(ctx, w.ns, queue(w.ns, "any", workers)...); err != nil {
		return err
	}
	group := func(j *v1alpha1.LaunchJob) { j.Spec.Launcher = nil }
	if err := w.create(ctx, w.newJob("one", workers, group)); err != nil {
		return err
	}
	if _, err := w.runs(ctx, "one", workers); err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("two", 2, group)); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "two", "waiting", waits("2 more needed")); err != nil {
		return err
	}
	if err := w.ends(ctx, "one-worker-2", "one-worker-3"); err != nil {
		return err
	}
	began := time.Now()
	if _, err := w.runs(ctx, "two", 2); err != nil {
		return err
	}
	w.figure("seconds until another job has the quota of members that have ended", time.Since(began).Seconds(), "<=", 30, "s")
	left, err := w.pods(ctx, "one")
	if err != nil {
		return err
	}
	w.figure("members of the first job that still run", len(left), "==", 2, "pods")
	w.see("two runs beside two members of one")
	if err := w.ends(ctx, "one-worker-0", "one-worker-1"); err != nil {
		return err
	}
	_, err = w.becomes(ctx, "one", "over", inPhase(v1alpha1.PhaseSucceeded))
	return err
}

// unready runs a job on a plane whose Kueue waits six seconds for pods. Its workers are never ready, so Kueue evicts it,
// and admits it again.
func unready(ctx context.Context, w *world) error {
	if err := w.apply(ctx, w.ns, queue(w.ns, "any", workers)...); err != nil {
		return err
	}
	never := func(j *v1alpha1.LaunchJob) {
		j.Spec.Roles[0].Template.Annotations = map[string]string{plane.NeverReady: "true"}
	}
	if err := w.create(ctx, w.newJob("one", workers, never)); err != nil {
		return err
	}
	status, err := w.becomes(ctx, "one", "evicted", func(j *v1alpha1.LaunchJob) bool { return j.Status.Reason == evicted })
	if err != nil {
		return err
	}
	w.see("%s: %s", status.Reason, status.Message)
	status, err = w.becomes(ctx, "one", "admitted again", func(j *v1alpha1.LaunchJob) bool { return j.Status.Evictions > 0 && j.Status.Reason != evicted })
	if err != nil {
		return err
	}
	w.raw["again"] = status
	err = w.until(ctx, "new pods", time.Minute, func() (bool, error) {
		return created(w.trace.since(0), "one") >= 2*members, nil
	})
	w.figure("evictions because pods were not ready", int(status.Evictions), ">=", 1, "evictions")
	return err
}
