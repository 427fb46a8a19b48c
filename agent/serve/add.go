package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// Add makes a manager serve Kubeflow's kinds. namespaces are those to which it is confined; none
// means all.
func Add(mgr manager.Manager, mode Mode, namespaces []string) error {
	if mode == "" || mode == Off {
		return nil
	}
	f := &finder{mgr: mgr, confined: len(namespaces) > 0, has: map[string]bool{}}
	if mode == DryRun {
		f.preview = &print{out: os.Stdout, seen: map[string]bool{}}
	}
	return mgr.Add(f)
}

// lookAgain is how often to check whether the cluster now has a missing kind, or allows a LaunchJob.
const lookAgain = 30 * time.Second

// finder starts a controller for each kind as soon as the cluster has it.
type finder struct {
	mgr      manager.Manager
	confined bool
	preview  *print
	has      map[string]bool // by name: only one version of a kind is served
}

// Start looks for kinds until ctx ends. Only the leader runs it.
func (f *finder) Start(ctx context.Context) error {
	for {
		found, err := f.found(f.mgr.GetRESTMapper())
		if err != nil { // the API server does not answer; the next look retries
			log.FromContext(ctx).Info("cannot list Kubeflow's kinds in the cluster", "error", err.Error())
		}
		for _, k := range found {
			if err := f.begin(ctx, k); err != nil {
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

// found lists the kinds that exist and are not served yet.
func (f *finder) found(mapper meta.RESTMapper) (list []kind, errs error) {
	for _, k := range kinds() {
		if f.has[k.name] {
			continue
		}
		_, err := mapper.RESTMapping(k.gvk().GroupKind(), k.version)
		switch {
		case err == nil:
			f.has[k.name] = true
			list = append(list, k)
		case !meta.IsNoMatchError(err):
			errs = errors.Join(errs, err)
		}
	}
	return list, errs
}

// begin starts the controller of a kind.
func (f *finder) begin(ctx context.Context, k kind) error {
	log.FromContext(ctx).Info("serving a kind of Kubeflow", "kind", k.name, "version", k.version, "dryRun", f.preview != nil)
	r := &Reconciler{
		Kind: k, Client: f.mgr.GetClient(), Reader: f.mgr.GetAPIReader(), Events: f.mgr.GetEventRecorder(fieldManager), Clock: clock.RealClock{},
		Convert: convert, Confined: f.confined, Preview: f.preview,
	}
	if err := r.watch(f.mgr); err != nil {
		return fmt.Errorf("serve %s: %w", k.name, err)
	}
	return nil
}

// convert is the conversion with the options for serving: the environment and the names of the
// kind's operator, and an agent that images need not contain.
func convert(object map[string]any) kubeflow.Result {
	return kubeflow.Convert(object, kubeflow.Options{Compat: "kubeflow-v1"})
}

// watch calls the reconciler for each change of an object, of its LaunchJob, and of the labels of
// its namespace.
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

// empty returns an empty object of the kind, as a target to read into.
func (k kind) empty() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.gvk())
	return o
}
