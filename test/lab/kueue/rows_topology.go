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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/lab/plane"
)

// required is the annotation of a template whose pods must be below one value of a node label.
const required = kueueGroup + "/podset-required-topology"

// fabric creates the topology of the nodes, and the row's queue of all 32 GPUs that follows it.
func (w *world) fabric(ctx context.Context) error {
	level := func(label string) any { return map[string]any{"nodeLabel": label} }
	objects := []any{
		object("Topology", "fabric", map[string]any{"levels": []any{level(block), level(rack), level(corev1.LabelHostname)}}),
		flavor("fabric", map[string]any{"lab.muster.dev/fabric": "any"}, "fabric"),
	}
	return w.apply(ctx, w.ns, append(objects, queue(w.ns, "fabric", 32)...)...)
}

// within makes the workers of a job require one value of a node label.
func within(label string) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) {
		j.Spec.Roles[0].Template.Annotations = map[string]string{required: label}
	}
}

// ranked returns the nodes of a job's workers in the order of their ranks, as its launcher orders them.
func ranked(pods map[string]corev1.Pod) (nodes []string) {
	snapshot := rendezvous.Snapshot{At: time.Now()}
	for _, p := range pods {
		if p.Labels[names.LabelRole] == names.RoleWorker {
			snapshot.Pods = append(snapshot.Pods, &p)
		}
	}
	slices.SortFunc(snapshot.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	board := rendezvous.New(len(snapshot.Pods), 0)
	board.SetPods(snapshot)
	for _, w := range rendezvous.ByTopology(board.Workers(), rendezvous.TopologyKeys()) {
		nodes = append(nodes, w.Node)
	}
	return nodes
}

// changes returns how often neighbors in a list differ after a change of their names.
func changes(nodes []string, of func(string) string) (n int) {
	for i := 1; i < len(nodes); i++ {
		if of(nodes[i]) != of(nodes[i-1]) {
			n++
		}
	}
	return n
}

// upTo returns a function that cuts a node's name: 2 is its block, 3 its rack.
func upTo(parts int) func(string) string {
	return func(node string) string { return strings.Join(strings.Split(node, "-")[:parts], "-") }
}

// ranks runs a job of 16 workers, which needs all nodes of a block.
func ranks(ctx context.Context, w *world) error {
	const all = 16
	if err := errors.Join(w.fabric(ctx), w.create(ctx, w.newJob("one", all, within(block)))); err != nil {
		return err
	}
	pods, err := w.runs(ctx, "one", all+1)
	if err != nil {
		return err
	}
	nodes := ranked(pods)
	w.raw["nodes in the order of ranks"] = nodes
	whole := func(node string) string { return node }
	w.figure("workers with a rank", len(nodes), "==", all, "workers")
	w.figure("neighboring ranks in two blocks", changes(nodes, upTo(2)), "==", 0, "pairs")
	w.figure("neighboring ranks in two racks, of 2 racks", changes(nodes, upTo(3)), "==", 1, "pairs")
	w.figure("neighboring ranks on two nodes, of 4 nodes", changes(nodes, whole), "==", 3, "pairs")
	w.see("%d ranks: %d changes of the rack, %d of the node", len(nodes), changes(nodes, upTo(3)), changes(nodes, whole))
	return nil
}

// narrow requires a rack for 12 workers, and a rack has 8 GPUs. The job runs when it needs 8.
func narrow(ctx context.Context, w *world) error {
	if err := errors.Join(w.fabric(ctx), w.create(ctx, w.newJob("one", 12, within(rack)))); err != nil {
		return err
	}
	status, err := w.becomes(ctx, "one", "waiting", waits("topology \"fabric\""))
	if err != nil {
		return err
	}
	w.see("%s: %s", status.Reason, status.Message)
	w.figure("pods of a job that does not fit", created(w.trace.since(0), "one"), "==", 0, "pods")
	if status.Reason != waiting {
		return errors.New("the reason is " + status.Reason)
	}
	if err := w.suspended(ctx, "one", true); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "one", "suspended", inPhase(v1alpha1.PhaseSuspended)); err != nil {
		return err
	}
	const smaller = `{"spec":{"workers":8,"runPolicy":{"suspend":false}}}`
	if _, err := w.Kubectl(ctx, w.ns, nil, "patch", "launchjob", "one", "--type=merge", "--patch", smaller); err != nil {
		return err
	}
	pods, err := w.runs(ctx, "one", 9)
	if err != nil {
		return err
	}
	racks := slices.Compact(slices.Sorted(slices.Values(ranked(pods))))
	w.figure("racks of 8 workers", changes(racks, upTo(3))+1, "==", 1, "racks")
	return nil
}

// node takes a node of a job with 8 workers on two nodes away. Kueue places the four workers again, in the same block.
// The other four stay as they are. Spares are among the eight: they must not be replaced a second time.
func node(spares int) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) (err error) {
		if err := errors.Join(w.fabric(ctx), w.create(ctx, w.newJob("one", 8-spares, within(block), impatient, func(j *v1alpha1.LaunchJob) {
			j.Spec.Spares = int32(spares)
			j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 3}
		}))); err != nil {
			return err
		}
		before, err := w.runs(ctx, "one", 9)
		if err != nil {
			return err
		}
		nodes := ranked(before)
		lost := nodes[0]
		if lost == before["one-"+names.RoleLauncher].Spec.NodeName {
			lost = nodes[len(nodes)-1]
		}
		w.raw["before"], w.raw["lost"] = nodes, lost
		began := time.Now()
		if err := w.lose(ctx, lost); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.find(context.WithoutCancel(ctx), lost)) }()
		after, err := w.elsewhere(ctx, lost)
		if err != nil {
			return err
		}
		w.figure("seconds until all workers run again", time.Since(began).Seconds(), "<=", 120, "s")
		return w.replaced(ctx, before, after, lost)
	}
}

// impatient makes the pods of a lost node be deleted after a second, and not after five minutes.
func impatient(j *v1alpha1.LaunchJob) {
	spec := &j.Spec.Roles[0].Template.Spec
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(1))})
	}
}

// elsewhere waits until the nine pods of the job one run, and none of them on a node.
func (w *world) elsewhere(ctx context.Context, lost string) (pods map[string]corev1.Pod, err error) {
	return pods, w.until(ctx, "8 workers on nodes that are there", 2*time.Minute, func() (bool, error) {
		if pods, err = w.pods(ctx, "one"); err != nil {
			return false, err
		}
		for name, p := range pods {
			if p.Spec.NodeName == lost || p.Status.Phase != corev1.PodRunning {
				return false, fmt.Errorf("%s is %s on %q", name, p.Status.Phase, p.Spec.NodeName)
			}
		}
		if len(pods) != 9 {
			return false, fmt.Errorf("there are %d pods", len(pods))
		}
		return true, nil
	})
}

// replaced judges the replacement of four workers.
func (w *world) replaced(ctx context.Context, before, after map[string]corev1.Pod, lost string) error {
	kept := 0
	for name, p := range before {
		if after[name].UID == p.UID {
			kept++
		}
	}
	places := ranked(after)
	slices.Sort(places)
	w.raw["after"] = places
	w.figure("pods that stay, with the launcher", kept, "==", 5, "pods")
	// Kueue ends new pods itself that it gave a place on the lost node before it knew, so more are created.
	w.figure("pods that got a node, of 9 of which 4 were lost", placed(w.trace.since(0), "one"), "==", 13, "pods")
	w.figure("blocks of the workers", changes(places, upTo(2))+1, "==", 1, "blocks")
	if err := w.uses(ctx, 8); err != nil {
		return err
	}
	job, err := w.job(ctx, w.site, "one")
	if err != nil {
		return err
	}
	w.figure("evictions of the job", int(job.Status.Evictions), "==", 0, "evictions")
	w.see("4 workers of %s run on %s", lost, strings.Join(slices.Compact(slices.Clone(places)), " and "))
	return nil
}

// lose makes a node NotReady, as after the end of its kubelet.
func (w *world) lose(ctx context.Context, name string) error {
	of := &corev1.Node{}
	of.Name = name
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+plane.LostLabel+`":"true"}}}`))
	if err := w.client.Patch(ctx, of, patch); err != nil {
		return err
	}
	for i, c := range of.Status.Conditions {
		if c.Type == corev1.NodeReady {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, "KubeletNotReady", "taken away"
			c.LastTransitionTime.Time = time.Now()
			of.Status.Conditions[i] = c
		}
	}
	return w.client.Status().Update(ctx, of)
}

// find undoes lose.
func (w *world) find(ctx context.Context, name string) error {
	_, err := w.Kubectl(ctx, "", nil, "label", "node", name, plane.LostLabel+"-")
	return err
}
