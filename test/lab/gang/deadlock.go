//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// stuckFor is how long a deadlock is looked at.
const stuckFor = 15 * time.Second

// deadlock applies two jobs together that do not fit together, without a gang. The
// controller makes both jobs' pods at the same time and the scheduler takes
// them as they come, so that each gets some of the GPUs, and keeps them. It is a race: where
// one job got all, the round does not count.
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
	w.see("with one deleted the other succeeded")
	return nil
}

// full waits until all pods are there and all GPUs taken.
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
	return s, fmt.Errorf("the GPUs are not taken within a minute: %v", s.Jobs)
}

// stuck sees that nothing goes on, and that both jobs say why.
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
		w.see("%s says %s: %s", name, status.Reason, status.Message)
		say++
	}
	w.figure("jobs whose reason is the scheduler's: Insufficient "+gpu, say, "==", 2, "jobs")
	if _, err := w.show(ctx, "kubectl get lj", "get", "lj"); err != nil {
		return err
	}
	_, err := w.show(ctx, "kubectl get lj -o wide", "get", "lj", "-o", "wide")
	return err
}

// named sees that the message names a pod that has no node.
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
	return fmt.Errorf("%s names no pod that waits: %s", job, message)
}
