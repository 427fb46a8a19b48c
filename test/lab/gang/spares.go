//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/exec/names"
)

// reserve runs a job of 4 workers and a spare under Volcano, one of which fails a check. The gang does not wait for
// the spare, and the spare takes part.
func reserve(ctx context.Context, w *world) error {
	change := func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework, j.Spec.Spares = "plain", 1
		j.Spec.Preflight = &v1alpha1.Preflight{Mode: "fail", Command: `test "$(uname -n)" != one-worker-2`}
		own := &j.Spec.Launcher.Template.Spec.Containers[0]
		own.Command = []string{"sh", "-c", "sleep 1"}
		own.Env = append(own.Env, corev1.EnvVar{Name: "MUSTER_REPORT", Value: corev1.TerminationMessagePathDefault})
	}
	if err := w.apply(ctx, "train.yaml", []string{"one"}, gang("volcano"), change); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "one", "over", 2*time.Minute, succeeded); err != nil {
		return err
	}
	group := &unstructured.Unstructured{}
	group.SetGroupVersionKind(object("volcano"))
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "one"}, group); err != nil {
		return err
	}
	w.figure("pods that must fit at the same time, of a job with 4 workers, a spare and a launcher", least(group), "==", members, "pods")
	var launcher corev1.Pod
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "one-" + names.RoleLauncher}, &launcher); err != nil {
		return err
	}
	var r report.Report
	if err := json.Unmarshal([]byte(launcher.Status.ContainerStatuses[0].State.Terminated.Message), &r); err != nil {
		return fmt.Errorf("read the launcher's report: %w", err)
	}
	if len(r.Spares) != 1 || r.Spares[0].Worker != "one-worker-2" || r.Spares[0].Spare != "one-worker-4" {
		return fmt.Errorf("one-worker-4 did not take the place of one-worker-2: %+v", r.Spares)
	}
	w.see("%s took the place of %s", r.Spares[0].Spare, r.Spares[0].Worker)
	w.figure("time added by a spare for a worker that fails its preflight", float64(r.Spares[0].AddedMS)/1000, "<=", 2, "s")
	return nil
}
