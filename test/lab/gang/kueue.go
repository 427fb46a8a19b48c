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
	"github.com/musterhq/muster/test/lab/kueue/manager"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// webhookPort is the port of Kueue's webhooks. They need no Service, because Kueue is a process of the API server's machine.
const webhookPort = "19443"

func kueue() module {
	m, err := manager.Module()
	if err != nil {
		m.Name = err.Error() // building it reports that
	}
	return module{folder: "kueue", Module: m, crds: manager.CRDs()}
}

// hook configures Kueue, and registers its webhooks. It returns the path of the configuration.
func (w *world) hook(ctx context.Context) (path string, err error) {
	if path, err = manager.Configure(w.dir, webhookPort, nil); err != nil {
		return "", err
	}
	return path, manager.Hook(ctx, kube.Kubectl, w.dir, webhookPort)
}

// queues creates Kueue's queue of four GPUs, as soon as Kueue's webhooks answer.
func (w *world) queues(ctx context.Context) error {
	text, err := testdata.ReadFile("testdata/kueue-queues.yaml")
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := kube.Kubectl(ctx, w.ns, text, "apply", "-f", "-")
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := await.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// topology runs jobs with a ps and a worker, one after the other, with an affinity between
// them and without, under the same scheduler.
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
	w.figure("jobs with both on one node, of 3 with the affinity ps,worker", together["near"], "==", each, "jobs")
	w.figure("jobs with both on one node, of 3 without", together["free"], "", 0, "jobs")
	w.see("ps and worker shared a node in %d of %d jobs with the affinity, in %d of %d without", together["near"], each, together["free"], each)
	return nil
}

// nodesOf returns the node of each pod of a job.
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

const (
	gpu     = "nvidia.com/gpu"
	gpuNode = "node1"
)
