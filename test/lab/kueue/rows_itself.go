//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/lab/plane"
)

// itself shows the bed without LaunchJobs: a pod runs and ends, and Kueue admits one Workload, and another one when
// the first is finished.
func itself(ctx context.Context, w *world) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ends", Namespace: w.ns, Annotations: map[string]string{plane.EndsAfter: "1s"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "localhost/none:dev"}}}}
	if err := w.client.Create(ctx, pod); err != nil {
		return err
	}
	began := time.Now()
	err := w.until(ctx, "a pod to end", time.Minute, func() (bool, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.Phase == corev1.PodSucceeded, err
	})
	if err != nil {
		return err
	}
	w.figure("time of a pod that ends after a second", time.Since(began).Seconds(), "<=", 20, "s")
	sets := []any{map[string]any{"name": "main", "count": 4, "template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{
		map[string]any{"name": "main", "image": "none", "resources": map[string]any{"requests": map[string]any{gpu: "1"}}}}}}}}
	if err := w.apply(ctx, w.ns, append(queue(w.ns, "any", 4), object("Workload", "one", map[string]any{"queueName": w.ns, "podSets": sets}))...); err != nil {
		return err
	}
	if err := w.uses(ctx, 4); err != nil {
		return err
	}
	if err := w.apply(ctx, w.ns, object("Workload", "two", map[string]any{"queueName": w.ns, "podSets": sets})); err != nil {
		return err
	}
	said := ""
	two := kindOf("Workload")
	err = w.until(ctx, "two to wait", time.Minute, func() (bool, error) {
		err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "two"}, two)
		said = conditionOf(two, "QuotaReserved").Message
		return said != "" && err == nil, err
	})
	if err != nil {
		return err
	}
	w.see("two waits: %s", said)
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Finished","status":"True","reason":"Succeeded","message":"","lastTransitionTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
	if _, err := w.Kubectl(ctx, w.ns, nil, "patch", "workloads.kueue.x-k8s.io", "one", "--subresource=status", "--type=merge", "--patch", patch); err != nil {
		return err
	}
	return w.until(ctx, "two to be admitted", 30*time.Second, func() (bool, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(two), two)
		return conditionOf(two, "Admitted").is(), err
	})
}
