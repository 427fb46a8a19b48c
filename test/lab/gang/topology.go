//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// topology runs jobs of a ps and a worker, one after the other, with the affinity
// of both and without, under the same scheduler.
func topology(ctx context.Context, w *world) error {
	together := map[string]int{}
	nodes := map[string]string{}
	const each = 3
	for _, kind := range []string{"near", "free"} {
		for i := range each {
			name := fmt.Sprintf("%s-%d", kind, i)
			err := w.apply(ctx, "roles.yaml", []string{name}, gang("volcano"), func(j *v1alpha1.LaunchJob) {
				if kind == "near" {
					j.Spec.Gang.Topology = &v1alpha1.Topology{Affinity: "ps,worker"}
				}
			})
			if err != nil {
				return err
			}
			if _, err := w.becomes(ctx, name, "over", time.Minute, succeeded); err != nil {
				return err
			}
			on, err := w.nodesOf(ctx, name)
			if err != nil {
				return err
			}
			nodes[name] = fmt.Sprint(on)
			if len(slices.Compact(slices.Sorted(maps.Values(on)))) == 1 {
				together[kind]++
			}
		}
	}
	w.raw["nodes"] = nodes
	w.figure("of 3 jobs with the affinity ps,worker, those with both on one node", together["near"], "==", each, "jobs")
	w.figure("of 3 jobs without, those with both on one node", together["free"], "", 0, "jobs")
	w.see("ps and worker shared a node in %d of %d jobs with the affinity, in %d of %d without", together["near"], each, together["free"], each)
	return nil
}

// nodesOf gives the node of each pod of a job.
func (w *world) nodesOf(ctx context.Context, job string) (map[string]string, error) {
	var pods corev1.PodList
	if err := w.client.List(ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{"muster.dev/job": job}); err != nil {
		return nil, err
	}
	on := map[string]string{}
	for _, p := range pods.Items {
		on[p.Name] = p.Spec.NodeName
	}
	if len(on) != 2 {
		return nil, fmt.Errorf("%s has %d pods", job, len(on))
	}
	return on, nil
}
