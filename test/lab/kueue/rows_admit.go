//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/figure"
)

const (
	each    = 20 // rounds of the row admit
	workers = 4
	members = workers + 1 // with the launcher
	// lack is what Kueue says of a job of four GPUs whose queue has none left.
	lack = "insufficient unused quota for nvidia.com/gpu in flavor any, 4 more needed"
	// waiting and unavailable are the reasons of jobs in a queue, and of jobs in a queue that does not work.
	waiting, unavailable = "GangUnschedulable", "QueueUnavailable"
	preempted, evicted   = "Preempted", "Evicted"
)

// admit applies two jobs at the same time, and the queue has room for one, again and again.
func admit(ctx context.Context, w *world) error {
	if err := w.apply(ctx, w.ns, queue(w.ns, "any", workers)...); err != nil {
		return err
	}
	var partial, reasons, swaps []float64
	for round := range each {
		r, err := w.round(ctx)
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		partial, reasons, swaps = append(partial, float64(r.early)), append(reasons, r.right), append(swaps, r.swap)
		if round == 0 {
			w.see("the other job waits: %s", r.said)
		}
	}
	w.figure("rounds in which one job ran whole, and the other one after it", len(swaps), "==", each, "rounds")
	w.figure("pods of the waiting job", figure.Series{Unit: "pods", Samples: partial, Reduce: "max"}, "==", 0, "pods")
	w.figure("rounds with Kueue's words in the waiting job", figure.Series{Unit: "rounds", Samples: reasons, Reduce: "sum"}, "==", each, "rounds")
	w.figure("seconds until the waiting job ran, after the end of the first", figure.Series{Unit: "s", Samples: swaps, Reduce: "max"}, "<=", 30, "s")
	w.see("%d rounds without a deadlock or a partial run", len(swaps))
	return w.uses(ctx, 0)
}

// round is one round of admit.
type round struct {
	early int     // pods of the waiting job, while the first one ran
	right float64 // 1: its reason is right
	swap  float64 // seconds from the end of the first to the run of the second
	said  string
}

func (w *world) round(ctx context.Context) (r round, err error) {
	start, err := w.trace.now()
	if err != nil {
		return r, err
	}
	if err := w.create(ctx, w.newJob("one", workers), w.newJob("two", workers)); err != nil {
		return r, err
	}
	first, second, err := w.race(ctx, "one", "two")
	if err != nil {
		return r, err
	}
	if _, err := w.runs(ctx, first, members); err != nil {
		return r, err
	}
	status, err := w.becomes(ctx, second, "waiting", waits(lack))
	if err != nil {
		return r, err
	}
	r.said = status.Reason + ": " + status.Message
	if status.Reason == waiting && strings.HasPrefix(status.Message, "Workload "+second+": ") {
		r.right = 1
	}
	r.early = created(w.trace.since(start), second)
	began := time.Now()
	if err := w.end(ctx, first); err != nil {
		return r, err
	}
	if _, err := w.runs(ctx, second, members); err != nil {
		return r, err
	}
	r.swap = time.Since(began).Seconds()
	if _, err := w.becomes(ctx, first, "over", inPhase(v1alpha1.PhaseSucceeded)); err != nil {
		return r, err
	}
	if err := w.end(ctx, second); err != nil {
		return r, err
	}
	if _, err := w.becomes(ctx, second, "over", inPhase(v1alpha1.PhaseSucceeded)); err != nil {
		return r, err
	}
	return r, w.remove(ctx, first, second)
}

// race returns which of two jobs runs, and which does not.
func (w *world) race(ctx context.Context, one, two string) (first, second string, err error) {
	err = w.until(ctx, "one of two jobs to run", time.Minute, func() (bool, error) {
		for name, other := range map[string]string{one: two, two: one} {
			job, err := w.job(ctx, w.site, name)
			if err != nil {
				return false, err
			}
			if job.Status.Phase == v1alpha1.PhaseRunning {
				first, second = name, other
				return true, nil
			}
		}
		return false, nil
	})
	return first, second, err
}

// preempt starts a job of a low priority, and then one of a high priority. The first loses all of its pods, waits with
// the reason, and runs again when there is room. Its restarts are not used up.
func preempt(ctx context.Context, w *world) error {
	class := func(name string, value int) any {
		return map[string]any{"apiVersion": kueueAPI, "kind": "WorkloadPriorityClass", "metadata": map[string]any{"name": name}, "value": value}
	}
	if err := w.apply(ctx, w.ns, append(queue(w.ns, "any", workers), class("low", 1), class("high", 1000))...); err != nil {
		return err
	}
	restarts := func(j *v1alpha1.LaunchJob) { j.Spec.RunPolicy = &v1alpha1.RunPolicy{BackoffLimit: 1} }
	if err := w.create(ctx, w.newJob("low", workers, label(priorityLabel, "low"), restarts)); err != nil {
		return err
	}
	if _, err := w.runs(ctx, "low", members); err != nil {
		return err
	}
	began := time.Now()
	if err := w.create(ctx, w.newJob("high", workers, label(priorityLabel, "high"))); err != nil {
		return err
	}
	status, err := w.becomes(ctx, "low", "preempted", func(j *v1alpha1.LaunchJob) bool { return j.Status.Reason == preempted })
	if err != nil {
		return err
	}
	w.see("low: %s: %s", status.Reason, status.Message)
	if _, err := w.runs(ctx, "high", members); err != nil {
		return err
	}
	w.figure("seconds until the job of a higher priority ran whole", time.Since(began).Seconds(), "<=", 60, "s")
	left, err := w.pods(ctx, "low")
	if err != nil {
		return err
	}
	w.figure("pods that the evicted job keeps", len(left), "==", 0, "pods")
	w.figure("jobs that had pods at the same time", together(w.trace.since(0)), "==", 1, "jobs")
	if err := w.end(ctx, "high"); err != nil {
		return err
	}
	if _, err := w.runs(ctx, "low", members); err != nil {
		return err
	}
	job, err := w.job(ctx, w.site, "low")
	if err != nil {
		return err
	}
	w.figure("evictions in the status", int(job.Status.Evictions), "==", 1, "evictions")
	w.raw["low, again"] = job.Status
	return w.restarts(ctx, "low", job.Status.Attempt)
}

// restarts lets a job with backoffLimit 1 fail twice: it restarts the first time, and not the second time.
func (w *world) restarts(ctx context.Context, name string, attempt int32) error {
	if err := w.fail(ctx, name); err != nil {
		return err
	}
	_, err := w.becomes(ctx, name, "restarted", func(j *v1alpha1.LaunchJob) bool {
		return j.Status.Attempt == attempt+1 && j.Status.Phase == v1alpha1.PhaseRunning
	})
	if err != nil {
		return err
	}
	if _, err := w.runs(ctx, name, members); err != nil {
		return err
	}
	if err := w.fail(ctx, name); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, name, "over", inPhase(v1alpha1.PhaseFailed)); err != nil {
		return err
	}
	w.see("backoffLimit: 1 still restarts it once")
	return w.uses(ctx, 0)
}

// fail ends the launcher of a job with an error.
func (w *world) fail(ctx context.Context, name string) error {
	const failed = `{"status":{"phase":"Failed","containerStatuses":[{"name":"main","image":"none","imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":1,"reason":"Error","finishedAt":%q}}}]}}`
	patch := fmt.Sprintf(failed, time.Now().UTC().Format(time.RFC3339))
	_, err := w.Kubectl(ctx, w.ns, nil, "patch", "pod", name+"-"+names.RoleLauncher, "--subresource=status", "--type=merge", "--patch", patch)
	return err
}

// missing creates a job whose queue does not exist, then the LocalQueue, and then its ClusterQueue.
func missing(ctx context.Context, w *world) error {
	if err := w.create(ctx, w.newJob("one", workers)); err != nil {
		return err
	}
	both := queue(w.ns, "any", workers)
	var said []string
	for _, step := range []struct {
		words string
		next  any
	}{{"LocalQueue " + w.ns + " doesn't exist", both[1]}, {"ClusterQueue " + w.ns + " doesn't exist", both[0]}} {
		status, err := w.becomes(ctx, "one", "refused", waits(step.words))
		if err != nil {
			return err
		}
		if status.Reason != unavailable {
			return fmt.Errorf("the reason is %s: %s", status.Reason, status.Message)
		}
		said = append(said, status.Message)
		if err := w.apply(ctx, w.ns, step.next); err != nil {
			return err
		}
	}
	began := time.Now()
	if _, err := w.runs(ctx, "one", members); err != nil {
		return err
	}
	w.figure("seconds until the job runs, after its queue was created", time.Since(began).Seconds(), "<=", 30, "s")
	w.figure("steps with Kueue's words and the reason "+unavailable, len(said), "==", 2, "steps")
	w.raw["said"] = said
	w.see("%s", said[0])
	return nil
}

// deactivate plays an administrator who sets spec.active of the Workload of a job that runs, and takes it back.
func deactivate(ctx context.Context, w *world) error {
	if err := w.apply(ctx, w.ns, queue(w.ns, "any", workers)...); err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("one", workers)); err != nil {
		return err
	}
	if _, err := w.runs(ctx, "one", members); err != nil {
		return err
	}
	u, err := w.workload(ctx, "one", "admitted", has("Admitted"))
	if err != nil {
		return err
	}
	if err := w.activate(ctx, u, false); err != nil {
		return err
	}
	status, err := w.becomes(ctx, "one", "evicted", func(j *v1alpha1.LaunchJob) bool { return j.Status.Reason == evicted })
	if err != nil {
		return err
	}
	w.see("%s: %s", status.Reason, status.Message)
	if !strings.Contains(status.Message, "spec.active") {
		return errors.New("the message does not say what to do: " + status.Message)
	}
	if err := errors.Join(w.uses(ctx, 0), w.empty(ctx, "one")); err != nil {
		return err
	}
	if err := w.activate(ctx, u, true); err != nil {
		return err
	}
	_, err = w.runs(ctx, "one", members)
	w.figure("pods created, of a job of 5 that ran twice", created(w.trace.since(0), "one"), "==", 2*members, "pods")
	return err
}

// activate sets spec.active of a Workload.
func (w *world) activate(ctx context.Context, u *unstructured.Unstructured, active bool) error {
	_, err := w.Kubectl(ctx, w.ns, nil, "patch", "workloads."+kueueGroup, u.GetName(), "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"active":%t}}`, active))
	return err
}

// suspend plays a user who suspends a job that runs, resumes it, and deletes it. Another job gets the quota each time.
func suspend(ctx context.Context, w *world) error {
	if err := w.apply(ctx, w.ns, queue(w.ns, "any", workers)...); err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("one", workers)); err != nil {
		return err
	}
	if _, err := w.runs(ctx, "one", members); err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("two", workers)); err != nil {
		return err
	}
	if err := w.suspended(ctx, "one", true); err != nil {
		return err
	}
	if _, err := w.runs(ctx, "two", members); err != nil {
		return err
	}
	status, err := w.becomes(ctx, "one", "suspended", inPhase(v1alpha1.PhaseSuspended))
	if err != nil {
		return err
	}
	w.see("%s: %s", status.Phase, status.Message)
	if err := errors.Join(w.empty(ctx, "one"), w.suspended(ctx, "one", false)); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "one", "waiting", waits(lack)); err != nil {
		return err
	}
	if err := w.remove(ctx, "two"); err != nil {
		return err
	}
	if _, err := w.runs(ctx, "one", members); err != nil {
		return err
	}
	if err := w.remove(ctx, "one"); err != nil {
		return err
	}
	w.figure("jobs that had pods at the same time", together(w.trace.since(0)), "==", 1, "jobs")
	live, err := w.workloads(ctx, w.site, "one")
	if err != nil {
		return err
	}
	w.figure("Workloads of deleted jobs", len(live), "==", 0, "Workloads")
	return w.uses(ctx, 0)
}

// suspended sets runPolicy.suspend of a job.
func (w *world) suspended(ctx context.Context, name string, yes bool) error {
	_, err := w.Kubectl(ctx, w.ns, nil, "patch", "launchjob", name, "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"runPolicy":{"suspend":%t}}}`, yes))
	return err
}

// empty waits until a job has no pods that run.
func (w *world) empty(ctx context.Context, job string) error {
	return w.until(ctx, job+" to have no pods", 30*time.Second, func() (bool, error) {
		pods, err := w.pods(ctx, job)
		return err == nil && len(pods) == 0, err
	})
}
