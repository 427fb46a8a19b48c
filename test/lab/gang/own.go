//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// ownRows returns the rows of Kubernetes' own gangs, if the cluster serves them.
func ownRows() []row {
	if !servesOwn() {
		return nil
	}
	return []row{
		{key: "own", what: "two jobs of 4 GPUs on 4 GPUs, under Kubernetes' own gangs", gpus: 4, play: pair("workload"), judge: oneAfterTheOther},
		{key: "own-auto", what: "the same with gang.backend auto", gpus: 4, play: auto, judge: oneAfterTheOther},
		{key: "own-rounds", what: "the same 20 times, applied together", gpus: 4, limit: 18 * time.Minute, play: rounds},
		{key: "own-preempted", what: "a gang of a higher priority takes the GPUs of a whole gang", gpus: 4, play: preempted},
		{key: "example-workload", what: "examples/gang-workload", play: fromExample("workload")},
	}
}

// servesOwn reports whether the cluster of KUBECONFIG serves the PodGroup of Kubernetes 1.37.
func servesOwn() bool {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return false
	}
	cfg.Timeout = 10 * time.Second
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return false
	}
	kind := object("workload")
	list, err := d.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return false
	}
	for _, r := range list.APIResources {
		if r.Kind == kind.Kind {
			return true
		}
	}
	return false
}

// auto is pair for jobs that leave the choice to the controller, which must say what it chose.
func auto(ctx context.Context, w *world) error {
	if err := pair("auto")(ctx, w); err != nil {
		return err
	}
	chosen, err := w.show(ctx, "the choice", "get", "lj", "one", "-o", "jsonpath={.status.gang}")
	if err != nil {
		return err
	}
	events, err := w.show(ctx, "events", "get", "events", "--field-selector=reason=GangChosen", "-o", `jsonpath={range .items[*]}{.type} {.message}{.note}{"\n"}{end}`)
	if err != nil {
		return err
	}
	w.figure("the status says that workload was chosen", chosen == "workload", "==", 1, "")
	w.figure("an event says why", strings.Contains(events, "Normal gang.backend auto: workload, because the cluster has PodGroup of scheduling.k8s.io"), "==", 1, "")
	return nil
}

// each is the number of rounds.
const each = 20

// rounds applies two jobs that do not fit together, again and again. In each round one of them gets all GPUs, and the
// other waits with the scheduler's reason and none of its pods on a node. Then the first is deleted.
func rounds(ctx context.Context, w *world) error {
	names := []string{"one", "two"}
	var partial, reasons, swaps []float64
	for round := range each {
		if err := w.apply(ctx, "train.yaml", names, gang("workload"), long); err != nil {
			return err
		}
		first, second, err := w.race(ctx, names)
		if err != nil {
			return fmt.Errorf("round %d: deadlock: %w", round+1, err)
		}
		status, err := w.becomes(ctx, second, "GangUnschedulable", 30*time.Second, func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "GangUnschedulable" })
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		s, err := w.sample(ctx)
		if err != nil {
			return err
		}
		partial = append(partial, float64(s.Jobs[second].Bound))
		right := 0.0
		if strings.Contains(status.Message, "PodGroup "+second+": ") && strings.Contains(status.Message, "cannot be satisfied") {
			right = 1
		}
		reasons = append(reasons, right)
		began := time.Now()
		if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "lj", first, "--cascade=foreground"); err != nil {
			return err
		}
		if _, err := w.becomes(ctx, second, "running", time.Minute, func(s v1alpha1.LaunchJobStatus) bool { return s.Phase == v1alpha1.PhaseRunning }); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		swaps = append(swaps, time.Since(began).Seconds())
		if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "lj", "--all", "--cascade=foreground"); err != nil {
			return err
		}
	}
	w.figure("rounds in which one job ran whole, and the other one after it", len(swaps), "==", each, "rounds")
	w.figure("pods of the waiting job with a node", figure.Series{Unit: "pods", Samples: partial, Reduce: "max"}, "==", 0, "pods")
	w.figure("rounds with the scheduler's reason in the waiting job", figure.Series{Unit: "rounds", Samples: reasons, Reduce: "sum"}, "==", each, "rounds")
	w.figure("seconds until the waiting job ran, after the deletion of the first", figure.Series{Unit: "s", Samples: swaps, Reduce: "max"}, "<=", 60, "s")
	w.see("%d rounds: one job whole, the other waited whole and ran after it", len(swaps))
	return nil
}

// long makes a job of train.yaml run until it is deleted.
func long(j *v1alpha1.LaunchJob) {
	j.Spec.Launcher.Template.Spec.Containers[0].Command = []string{"sh", "-c", "mpirun sleep 600"}
}

// preempted starts a job, and then one with a higher priority that needs the same GPUs. All workers of the first lose
// their nodes, not some of them.
func preempted(ctx context.Context, w *world) (err error) {
	class := w.ns + "-high"
	object := map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": class}, "value": 1000}
	if err := kube.Apply(ctx, w.ns, object); err != nil {
		return err
	}
	defer func() {
		_, failed := kube.Kubectl(context.WithoutCancel(ctx), w.ns, nil, "delete", "priorityclass", class)
		err = errors.Join(err, failed)
	}()
	running := func(s v1alpha1.LaunchJobStatus) bool { return s.Phase == v1alpha1.PhaseRunning }
	if err := w.apply(ctx, "train.yaml", []string{"low"}, gang("workload"), long); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "low", "running", time.Minute, running); err != nil {
		return err
	}
	if err := w.apply(ctx, "train.yaml", []string{"high"}, gang("workload"), long, func(j *v1alpha1.LaunchJob) { j.Spec.Gang.PriorityClassName = class }); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "high", "running", 90*time.Second, running); err != nil {
		return err
	}
	s, err := w.sample(ctx)
	if err != nil {
		return err
	}
	w.figure("workers of the preempted job that keep a node", s.Jobs["low"].Worker, "==", 0, "pods")
	if _, err := w.show(ctx, "kubectl get lj,pods, at the end", "get", "lj,pods", "-o", "wide"); err != nil {
		return err
	}
	w.see("high runs; low is %s: %s: %s", s.Jobs["low"].Phase, s.Jobs["low"].Reason, s.Jobs["low"].Words)
	return nil
}
