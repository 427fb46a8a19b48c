//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// members is the number of pods of a job of train.yaml: four workers and the launcher.
const members = 5

// object returns the kind of the object that a backend creates for a gang: a PodGroup of Muster, or a Workload of Kueue.
func object(backend string) schema.GroupVersionKind {
	switch backend {
	case "volcano":
		return schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}
	case "coscheduling":
		return schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
	case "workload", "auto":
		return schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"}
	}
	return schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}
}

// pair applies two jobs that do not fit together, under a gang scheduler, and waits until
// both have succeeded. Meanwhile the second job must give the reason why it waits.
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

// race waits until one of two jobs runs, and returns both in order.
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

// waits checks that the waiting job's reason and message come from the gang's scheduler.
func (w *world) waits(ctx context.Context, backend, name string) error {
	reason := "GangUnschedulable"
	if backend == "coscheduling" {
		reason = "Unschedulable"
	}
	status, err := w.becomes(ctx, name, reason, 30*time.Second, func(s v1alpha1.LaunchJobStatus) bool {
		return s.Reason == reason
	})
	if err != nil {
		return err
	}
	if _, err := w.show(ctx, "kubectl get lj, while one runs", "get", "lj", "-o", "wide"); err != nil {
		return err
	}
	if _, err := w.show(ctx, "messages of the pods, while one runs", "get", "pods", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName} {.status.conditions[?(@.type=="PodScheduled")].message}{"\n"}{end}`); err != nil {
		return err
	}
	group := &unstructured.Unstructured{}
	group.SetGroupVersionKind(object(backend))
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, group); err != nil {
		return err
	}
	w.raw["the gang of the waiting job"] = group.Object
	own := slices.Contains(says(group), strings.TrimPrefix(status.Message, group.GetKind()+" "+name+": "))
	if backend == "coscheduling" { // its PodGroup has no conditions, but its pods have
		own = strings.Contains(status.Message, "Insufficient "+gpu)
	}
	w.figure("the waiting job has the scheduler's own message", own, "==", 1, "")
	w.figure("pods that must fit at the same time, of a job with 4 workers and a launcher", least(group), "==", members, "pods")
	w.see("the other job waits: %s: %s", status.Reason, status.Message)
	return nil
}

// says returns the messages of a gang's conditions.
func says(group *unstructured.Unstructured) (messages []string) {
	conditions, _, _ := unstructured.NestedSlice(group.Object, "status", "conditions")
	for _, c := range conditions {
		text, _ := c.(map[string]any)["message"].(string)
		messages = append(messages, text)
	}
	return messages
}

// least returns how many pods of a gang must fit at the same time.
func least(group *unstructured.Unstructured) (n int64) {
	n, _, _ = unstructured.NestedInt64(group.Object, "spec", "minMember")
	own, _, _ := unstructured.NestedInt64(group.Object, "spec", "schedulingPolicy", "gang", "minCount")
	n += own
	sets, _, _ := unstructured.NestedSlice(group.Object, "spec", "podSets")
	for _, s := range sets {
		count, _ := s.(map[string]any)["count"].(int64)
		n += count
	}
	return n
}

// oneAfterTheOther checks that no pod of the other job has a node while the first job has its nodes.
func oneAfterTheOther(w *world, samples []sample) error {
	first := firstBound(samples)
	bound := others(samples, first)
	if len(bound) < 8 {
		return fmt.Errorf("only %d samples of %s with all its pods", len(bound), first)
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

// stuckFor is how long a deadlock is observed.
const stuckFor = 15 * time.Second

// deadlock applies two jobs at the same time that do not fit together, without a gang. The
// controller creates both jobs' pods at the same time, and the scheduler binds
// them in the order of their creation. So each job gets some of the GPUs and keeps them. It is a race: if
// one job gets all GPUs, the round does not count.
func deadlock(ctx context.Context, w *world) error {
	names := []string{"one", "two"}
	var s sample
	for round := 1; ; round++ {
		if err := w.apply(ctx, "train.yaml", names, gang("none")); err != nil {
			return err
		}
		var err error
		if s, err = w.full(ctx, names); err != nil {
			return err
		}
		if s.Jobs["one"].Worker > 0 && s.Jobs["two"].Worker > 0 {
			w.raw["rounds"] = round
			break
		}
		if round == 6 {
			return fmt.Errorf("no deadlock in %d rounds", round)
		}
		if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "lj", "--all", "--cascade=foreground"); err != nil {
			return err
		}
	}
	w.see("deadlock: %d and %d of 4 GPUs each, in round %d", s.Jobs["one"].Worker, s.Jobs["two"].Worker, w.raw["rounds"])
	if err := w.stuck(ctx, names); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "lj", "one"); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "two", "over", 90*time.Second, succeeded); err != nil {
		return err
	}
	w.see("after the deletion of one job, the other succeeded")
	return nil
}

// full waits until all pods exist and all GPUs are allocated.
func (w *world) full(ctx context.Context, names []string) (s sample, err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if s, err = w.sample(ctx); err != nil {
			return s, err
		}
		one, two := s.Jobs[names[0]], s.Jobs[names[1]]
		if one.Pods == members && two.Pods == members && one.Worker+two.Worker == 4 {
			return s, nil
		}
		if err := await.Pause(ctx, period); err != nil {
			return s, err
		}
	}
	return s, fmt.Errorf("the GPUs were not allocated within a minute: %v", s.Jobs)
}

// stuck checks that neither job makes progress, and that both give the reason.
func (w *world) stuck(ctx context.Context, names []string) error {
	insufficient := func(s v1alpha1.LaunchJobStatus) bool {
		return s.Reason == "Unschedulable" && strings.Contains(s.Message, "Insufficient "+gpu)
	}
	var bound, running []float64
	for until := time.Now().Add(stuckFor); time.Now().Before(until); {
		s, err := w.sample(ctx)
		if err != nil {
			return err
		}
		b, r := 0, 0
		for _, j := range s.Jobs {
			b += j.Worker
			if j.Phase == v1alpha1.PhaseRunning || j.Phase == v1alpha1.PhaseSucceeded {
				r++
			}
		}
		bound, running = append(bound, float64(b)), append(running, float64(r))
		if err := await.Pause(ctx, period); err != nil {
			return err
		}
	}
	w.figure("GPUs that two jobs hold while neither runs", figure.Series{Unit: "GPUs", Samples: bound, Reduce: "min"}, "==", 4, "GPUs")
	w.figure("jobs that run meanwhile", figure.Series{Unit: "jobs", Samples: running, Reduce: "max"}, "==", 0, "jobs")
	say := 0
	for _, name := range names {
		status, err := w.becomes(ctx, name, "Unschedulable", 10*time.Second, insufficient)
		if err != nil {
			return err
		}
		if err := w.named(ctx, name, status.Message); err != nil {
			return err
		}
		w.see("%s waits: %s: %s", name, status.Reason, status.Message)
		say++
	}
	w.figure("jobs whose reason is the scheduler's: Insufficient "+gpu, say, "==", 2, "jobs")
	if _, err := w.show(ctx, "kubectl get lj", "get", "lj"); err != nil {
		return err
	}
	_, err := w.show(ctx, "kubectl get lj -o wide", "get", "lj", "-o", "wide")
	return err
}

// named checks that the message names a pod without a node.
func (w *world) named(ctx context.Context, job, message string) error {
	var pods corev1.PodList
	if err := w.client.List(ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{"muster.dev/job": job}); err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == "" && strings.Contains(message, p.Name+" ") {
			return nil
		}
	}
	return fmt.Errorf("the message of %s names no pending pod: %s", job, message)
}

const noGang = "NoGangScheduler"

// serves returns a check for the message of a backend whose kind is not served.
func serves(backend string) func(v1alpha1.LaunchJobStatus) bool {
	return func(s v1alpha1.LaunchJobStatus) bool {
		return s.Reason == noGang && strings.Contains(s.Message, "gang.backend is "+backend+", but this cluster has no ")
	}
}

// absent requests backends that the cluster does not have.
func absent(ctx context.Context, w *world) error {
	backends := []string{"volcano", "coscheduling", "kueue"}
	if !servesOwn() {
		backends = append(backends, "workload")
	}
	for _, b := range backends {
		if err := w.apply(ctx, "train.yaml", []string{b}, gang(b)); err != nil {
			return err
		}
	}
	said := map[string]string{}
	for _, b := range backends {
		status, err := w.becomes(ctx, b, noGang, 15*time.Second, serves(b))
		if err != nil {
			return err
		}
		said[b] = status.Message
	}
	w.raw["messages"] = said
	w.figure("backends that report that their kind is not served", len(said), "==", float64(len(backends)), "backends")
	w.see("%s", said["kueue"])
	_, err := w.show(ctx, "kubectl get lj", "get", "lj")
	return err
}

// removed removes a backend's kind that the controller has already used, and
// adds it again.
func removed(ctx context.Context, w *world) (err error) {
	defer func() { err = errors.Join(err, undefine(context.WithoutCancel(ctx), volcano())) }()
	known := func(s v1alpha1.LaunchJobStatus) bool { return s.Reason != "" && s.Reason != noGang }
	if err := define(ctx, volcano()); err != nil {
		return err
	}
	if err := w.apply(ctx, "train.yaml", []string{"before"}, gang("volcano")); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "before", "waiting for a scheduler", 20*time.Second, known); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "lj", "before", "--cascade=foreground"); err != nil {
		return err
	}
	if err := undefine(ctx, volcano()); err != nil {
		return err
	}
	if err := w.apply(ctx, "train.yaml", []string{"after"}, gang("volcano")); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "after", noGang, 20*time.Second, serves("volcano")); err != nil {
		return err
	}
	if err := define(ctx, volcano()); err != nil {
		return err
	}
	began := time.Now()
	if _, err := w.becomes(ctx, "after", "waiting for a scheduler", time.Minute, known); err != nil {
		return err
	}
	w.figure("seconds until a backend that comes back is used", time.Since(began).Seconds(), "<=", 30, "s")
	w.see("reported %s; used %.0f s after it was added again", noGang, time.Since(began).Seconds())
	return nil
}
