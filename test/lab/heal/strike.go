//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// reaches waits until a rank has reached a step.
func (w *world) reaches(ctx context.Context, step int) error {
	return w.await(ctx, func() bool {
		for _, l := range w.said("step") {
			if l.Step >= step {
				return true
			}
		}
		return false
	})
}

// deletes deletes the pod of a worker once the job has reached a step, with flags of
// kubectl delete, and runs the loop that creates pods again.
func deletes(i, step int, flags ...string) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) error {
		if err := w.reaches(ctx, step); err != nil {
			return err
		}
		w.struck = time.Now()
		if _, err := kube.Kubectl(ctx, w.ns, nil, append([]string{"delete", "pod", worker(i), "--wait=false"}, flags...)...); err != nil {
			return err
		}
		return w.remake(ctx)
	}
}

// loses powers the second node off, and runs the loop that creates its pods again on the first.
func loses(step int) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) (err error) {
		if err := w.reaches(ctx, step); err != nil {
			return err
		}
		defer func() {
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
			defer cancel()
			if on := cluster(after, "node", "on", nodes[1]); on != nil {
				err = on
			}
		}()
		w.struck = time.Now()
		if err := cluster(ctx, "node", "off", nodes[1]); err != nil {
			return err
		}
		return w.remake(ctx)
	}
}

// unplugs unplugs the second node's cable for a time.
func unplugs(step int, span time.Duration) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) (err error) {
		if err := w.reaches(ctx, step); err != nil {
			return err
		}
		defer func() {
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			if plugged := cluster(after, "node", "plug", nodes[1]); plugged != nil {
				err = plugged
			}
		}()
		w.struck = time.Now()
		if err := cluster(ctx, "node", "unplug", nodes[1]); err != nil {
			return err
		}
		return await.Pause(ctx, span)
	}
}

// remake acts like a controller: it creates a missing worker again under its
// name. It deletes a pod on a lost node by force, as an
// administrator would.
func (w *world) remake(ctx context.Context) error {
	for {
		if err := w.remakeOnce(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if await.Pause(ctx, time.Second) != nil {
			return nil
		}
	}
}

func (w *world) remakeOnce(ctx context.Context) error {
	ready, err := readyNodes(ctx)
	if err != nil {
		return err
	}
	text, err := kube.Kubectl(ctx, w.ns, nil, "get", "pods", "-l", "muster.dev/role=worker", "-o", "json")
	if err != nil {
		return err
	}
	var list corev1.PodList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return fmt.Errorf("read pods: %w", err)
	}
	there := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		there[pod.Name] = pod
	}
	for i := range w.row.size() {
		pod, exists := there[worker(i)]
		switch {
		case !exists:
			node := nodes[i%len(nodes)]
			if !ready[node] {
				node = nodes[0]
			}
			again, err := w.workerPod(i, node)
			if err != nil {
				return err
			}
			if err := kube.Apply(ctx, w.ns, again); err != nil {
				return err
			}
		case !ready[pod.Spec.NodeName]:
			if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "pod", pod.Name, "--force", "--grace-period=0", "--wait=false"); err != nil {
				return err
			}
		}
	}
	return nil
}

// readyNodes returns the nodes that are Ready.
func readyNodes(ctx context.Context) (map[string]bool, error) {
	text, err := kube.Kubectl(ctx, "default", nil, "get", "nodes", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list corev1.NodeList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	ready := map[string]bool{}
	for _, n := range list.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				ready[n.Name] = c.Status == corev1.ConditionTrue
			}
		}
	}
	return ready, nil
}

// cluster runs a verb of test/lab/cluster.
func cluster(ctx context.Context, args ...string) error {
	_, err := kube.Program(ctx, nil, os.Getenv("MUSTER_CLUSTER"), args...)
	return err
}
