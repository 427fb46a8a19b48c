package topology

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// none is the entry of topologyKeys for an order by the number of the pod.
const none = "none"

// Reconciler copies the topology of one pod at a time.
type Reconciler struct {
	Client client.Client // reads pods and jobs from the cache, writes pods
	Reader client.Reader // reads nodes from the API server, without a cache
	Events events.EventRecorder
	Clock  clock.PassiveClock
	Reason string // of the event about a missing right
	nodes  nodes
}

// Add makes the manager copy topology for the pods of its cache. reason is that of the event about a
// missing right.
func Add(mgr manager.Manager, reason string) error {
	r := &Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("muster-controller"), Clock: clock.RealClock{}, Reason: reason}
	worth := predicate.NewPredicateFuncs(func(o client.Object) bool {
		pod, ok := o.(*corev1.Pod)
		return ok && lacks(pod)
	})
	err := ctrl.ControllerManagedBy(mgr).Named("topology").For(&corev1.Pod{}, ctrl.WithPredicates(worth)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(r)
	if err != nil {
		return fmt.Errorf("watch pods for their topology: %w", err)
	}
	return nil
}

// Reconcile writes the topology of its node on a pod that needs it. If the API server refuses that,
// Reconcile says so once in an event of the job, and does nothing for refusedAge.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, job := &corev1.Pod{}, &v1alpha1.LaunchJob{}
	if err := r.Client.Get(ctx, req.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !lacks(pod) || r.nodes.isRefused(r.Clock.Now()) {
		return reconcile.Result{}, nil
	}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[names.LabelJob]}, job); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	keys := keysOf(job)
	if len(keys) == 0 || !metav1.IsControlledBy(pod, job) {
		return reconcile.Result{}, nil
	}
	err := r.locate(ctx, pod, keys, labeledBy(job))
	if apierrors.IsForbidden(err) {
		if r.nodes.refuse(r.Clock.Now()) {
			r.Events.Eventf(job, nil, corev1.EventTypeWarning, r.Reason, "Reconcile", "ranks are ordered by the number of their pods, not by topology: %v", err)
		}
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, err
}

// keysOf returns the node labels that the job's launcher needs, or nil if its ranks do not follow
// the topology. Ranks of elastic jobs, of roles and of compat follow the numbers of the pods.
func keysOf(job *v1alpha1.LaunchJob) (keys []string) {
	spec := &job.Spec
	if spec.Launcher == nil || spec.Elastic != nil || spec.Compat != "" || len(spec.Roles) != 1 || spec.Roles[0].Name != names.RoleWorker {
		return nil
	}
	if slices.Contains(spec.TopologyKeys, none) {
		return nil
	}
	for _, key := range spec.TopologyKeys {
		keys = append(keys, string(key))
	}
	if len(keys) == 0 {
		return rendezvous.TopologyKeys()
	}
	return keys
}

// labeledBy returns the time from which on a read of a node has the labels that the job means. Users
// label their nodes, and then create a job that names the labels. Kubernetes has whole seconds.
func labeledBy(job *v1alpha1.LaunchJob) time.Time {
	if len(job.Spec.TopologyKeys) == 0 {
		return time.Time{}
	}
	return job.CreationTimestamp.Add(time.Second)
}

// lacks reports whether the pod is a worker on a node, and its topology was not written yet.
func lacks(pod *corev1.Pod) bool {
	_, has := pod.Annotations[names.AnnotationTopology]
	return !has && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && pod.Labels[names.LabelRole] == names.RoleWorker &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// locate copies the labels of a pod's node to the pod, unless there is nothing to copy.
func (r *Reconciler) locate(ctx context.Context, pod *corev1.Pod, keys []string, since time.Time) error {
	labels, err := r.labelsOf(ctx, pod.Spec.NodeName, since)
	if err != nil {
		return fmt.Errorf("read node %s: %w", pod.Spec.NodeName, err)
	}
	value := rendezvous.TopologyOf(labels, keys)
	if value == "" || isCarried(pod, labels, keys) {
		return nil
	}
	change := map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]string{names.AnnotationTopology: value}}}
	text, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encode topology of pod %s: %w", pod.Name, err)
	}
	err = r.Client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, text))
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it was deleted, or replaced by a pod of its name
		return nil
	}
	return fmt.Errorf("write topology of pod %s: %w", pod.Name, err)
}

// isCarried reports whether the pod has all these labels of its node as labels of its own.
// Kubernetes itself copies region and zone from 1.35 on.
func isCarried(pod *corev1.Pod, labels map[string]string, keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return labels[key] != "" && pod.Labels[key] != labels[key] })
}

// labelsOf returns the labels of a node, read not before since; none if it does not exist anymore.
func (r *Reconciler) labelsOf(ctx context.Context, name string, since time.Time) (map[string]string, error) {
	if labels, known := r.nodes.known(name, r.Clock.Now(), since); known {
		return labels, nil
	}
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, have); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	r.nodes.keep(name, have.Labels, r.Clock.Now())
	return have.Labels, nil
}
