//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
)

// members of a job of train.yaml: four workers and the launcher.
const members = 5

// object is the kind of what a backend makes of a gang: ours, or Kueue's own.
func object(backend string) schema.GroupVersionKind {
	switch backend {
	case "volcano":
		return schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}
	case "coscheduling":
		return schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
	}
	return schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "Workload"}
}

// pair applies two jobs that do not fit together, under a gang scheduler, and sees
// both to their ends; meanwhile the second one has to say why it waits.
func pair(backend string) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) error {
		names := []string{"one", "two"}
		if backend == "kueue" {
			if err := w.queues(ctx); err != nil {
				return err
			}
		}
		if err := w.apply(ctx, "train.yaml", names, gang(backend)); err != nil {
			return err
		}
		first, second, err := w.race(ctx, names)
		if err != nil {
			return err
		}
		if err := w.waits(ctx, backend, second); err != nil {
			return err
		}
		for _, name := range []string{first, second} {
			if _, err := w.becomes(ctx, name, "over", 90*time.Second, succeeded); err != nil {
				return err
			}
		}
		if _, err = w.show(ctx, "gangs, at the end", "get", object(backend).Kind+"."+object(backend).Group, "-o", "yaml"); err != nil {
			return err
		}
		_, err = w.show(ctx, "kubectl get lj, at the end", "get", "lj", "-o", "wide")
		return err
	}
}

func succeeded(s v1alpha1.LaunchJobStatus) bool { return s.Phase == v1alpha1.PhaseSucceeded }

// race waits until one of two jobs runs.
func (w *world) race(ctx context.Context, names []string) (first, second string, err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		s, err := w.sample(ctx)
		if err != nil {
			return "", "", err
		}
		for i, name := range names {
			if s.Jobs[name].Phase == v1alpha1.PhaseRunning {
				return name, names[1-i], nil
			}
		}
		if err := await.Pause(ctx, period); err != nil {
			return "", "", err
		}
	}
	return "", "", errors.New("neither job runs within a minute")
}

// waits sees that the job that waits says why, in its gang's scheduler's own words.
func (w *world) waits(ctx context.Context, backend, name string) error {
	reason := map[string]string{"volcano": "GangUnschedulable", "coscheduling": "Unschedulable", "kueue": "GangUnschedulable"}[backend]
	status, err := w.becomes(ctx, name, reason, 30*time.Second, func(s v1alpha1.LaunchJobStatus) bool {
		return s.Reason == reason
	})
	if err != nil {
		return err
	}
	if _, err := w.show(ctx, "kubectl get lj, while one runs", "get", "lj", "-o", "wide"); err != nil {
		return err
	}
	if _, err := w.show(ctx, "what pods say, while one runs", "get", "pods", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName} {.status.conditions[?(@.type=="PodScheduled")].message}{"\n"}{end}`); err != nil {
		return err
	}
	group := &unstructured.Unstructured{}
	group.SetGroupVersionKind(object(backend))
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, group); err != nil {
		return err
	}
	w.raw["the gang of the one that waits"] = group.Object
	own := slices.Contains(says(group), strings.TrimPrefix(status.Message, group.GetKind()+" "+name+": "))
	if backend == "coscheduling" { // its PodGroup has no conditions, but its pods have
		own = strings.Contains(status.Message, "Insufficient "+gpu)
	}
	w.figure("the scheduler's own words are the reason of the job that waits", own, "==", 1, "")
	w.figure("pods that must fit at once, of a job of 4 workers and a launcher", least(group), "==", members, "pods")
	w.see("the other says %s: %s", status.Reason, status.Message)
	return nil
}

// says gives the messages of a gang's conditions.
func says(group *unstructured.Unstructured) (messages []string) {
	conditions, _, _ := unstructured.NestedSlice(group.Object, "status", "conditions")
	for _, c := range conditions {
		text, _ := c.(map[string]any)["message"].(string)
		messages = append(messages, text)
	}
	return messages
}

// least is how many pods a gang has to have at once.
func least(group *unstructured.Unstructured) (n int64) {
	n, _, _ = unstructured.NestedInt64(group.Object, "spec", "minMember")
	sets, _, _ := unstructured.NestedSlice(group.Object, "spec", "podSets")
	for _, s := range sets {
		count, _ := s.(map[string]any)["count"].(int64)
		n += count
	}
	return n
}

// oneAfterTheOther: while the first job has its nodes, the other has none.
func oneAfterTheOther(w *world, samples []sample) error {
	first := firstBound(samples)
	bound := others(samples, first)
	if len(bound) < 8 {
		return fmt.Errorf("%d samples of %s with all its pods: too few to tell", len(bound), first)
	}
	w.figure("pods of the other job with a node, while the first runs", figure.Series{Unit: "pods", Samples: bound, Reduce: "max"}, "==", 0, "pods")
	over := 0
	for _, j := range samples[len(samples)-1].Jobs {
		if j.Phase == v1alpha1.PhaseSucceeded {
			over++
		}
	}
	w.figure("jobs that have succeeded", over, "==", 2, "jobs")
	w.see("%s first; no pod of the other had a node in %d samples", first, len(bound))
	return nil
}
