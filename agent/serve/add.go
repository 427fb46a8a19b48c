package serve

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/kubeflow"
)

// Add has a manager serve Kubeflow's kinds. namespaces are those that it is confined
// to; none: all.
func Add(mgr manager.Manager, mode Mode, namespaces []string) error {
	if mode == "" || mode == Off {
		return nil
	}
	f := &finder{mgr: mgr, confined: len(namespaces) > 0, has: map[schema.GroupVersionKind]bool{}}
	if mode == DryRun {
		f.preview = &print{out: os.Stdout, seen: map[string]bool{}}
	}
	return mgr.Add(f)
}

// lookAgain is how often the cluster is asked for kinds that it did not have.
const lookAgain = 30 * time.Second

// finder starts a controller for each kind as soon as the cluster has it.
type finder struct {
	mgr      manager.Manager
	confined bool
	preview  *print
	has      map[schema.GroupVersionKind]bool
}

// Start looks for kinds until it is told to stop. Only the leader does.
func (f *finder) Start(ctx context.Context) error {
	for {
		for _, k := range kinds() {
			if err := f.find(ctx, k); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
}

// find starts the controller of a kind that is there. An API server that does not
// answer is asked again later.
func (f *finder) find(ctx context.Context, k kind) error {
	if f.has[k.gvk()] {
		return nil
	}
	_, err := f.mgr.GetRESTMapper().RESTMapping(k.gvk().GroupKind(), k.version)
	if err != nil {
		if !meta.IsNoMatchError(err) {
			log.FromContext(ctx).Info("cannot tell whether the cluster has a kind", "kind", k.name, "error", err.Error())
		}
		return nil
	}
	f.has[k.gvk()] = true
	log.FromContext(ctx).Info("serving a kind of Kubeflow's", "kind", k.name, "version", k.version, "dryRun", f.preview != nil)
	r := &Reconciler{
		Kind: k, Client: f.mgr.GetClient(), Reader: f.mgr.GetAPIReader(), Events: f.mgr.GetEventRecorder(fieldManager), Clock: clock.RealClock{},
		Convert: convert, Confined: f.confined, Preview: f.preview,
	}
	if err := r.watch(f.mgr); err != nil {
		return fmt.Errorf("serve %s: %w", k.name, err)
	}
	return nil
}

// convert is what serving asks of a conversion: the environment and the names of the
// kind's operator, and an agent that images need not have.
func convert(object map[string]any) kubeflow.Result {
	return kubeflow.Convert(object, kubeflow.Options{Compat: "kubeflow-v1", Delivery: "init"})
}

// watch has the reconciler called for each change of an object, of its LaunchJob, and
// of the labels of its namespace.
func (r *Reconciler) watch(mgr manager.Manager) error {
	b := ctrl.ControllerManagedBy(mgr).Named("kubeflow-" + strings.ToLower(r.Kind.name) + "-" + r.Kind.version).
		For(r.Kind.empty()).Owns(&v1alpha1.LaunchJob{})
	if !r.Confined {
		ns := &metav1.PartialObjectMetadata{}
		ns.SetGroupVersionKind(namespaceKind)
		b = b.WatchesMetadata(ns, handler.EnqueueRequestsFromMapFunc(r.of))
	}
	return b.Complete(r)
}

// of lists the objects of a namespace.
func (r *Reconciler) of(ctx context.Context, ns client.Object) (all []reconcile.Request) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.Kind.gvk().GroupVersion().WithKind(r.Kind.name + "List"))
	if err := r.Client.List(ctx, list, client.InNamespace(ns.GetName())); err != nil {
		log.FromContext(ctx).Error(err, "list objects of a namespace", "namespace", ns.GetName())
		return nil
	}
	for i := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return all
}

// empty is an object of the kind, to be read into.
func (k kind) empty() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.gvk())
	return o
}
