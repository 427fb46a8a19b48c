package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/census"
	"github.com/musterhq/muster/agent/controller/kubelets"
	"github.com/musterhq/muster/agent/controller/progress"
	"github.com/musterhq/muster/agent/controller/queue"
	"github.com/musterhq/muster/agent/controller/topology"
	"github.com/musterhq/muster/agent/controller/trace"
	"github.com/musterhq/muster/agent/serve"
	"github.com/musterhq/muster/exec/names"
)

// Options configures the controller.
type Options struct {
	Namespaces     []string // namespaces to serve; empty: all
	AgentImage     string   // image of the injected agent
	MaxWorkers     uint     // limit for each job; 0: as many as the CRD allows
	Version        string
	LeaderElection bool
	LeaseNamespace string     // of the leader's lease; "": the controller's own
	MetricsAddress string     // "0": no metrics
	ProbeAddress   string     // "": no probes
	ProgressAddr   string     // of the server for progress reports; "" or "0": none
	Namespace      string     // of the controller itself; "": unknown
	Serve          serve.Mode // Kubeflow's kinds
}

// settle is how long changes of a job's pods are collected for one reconcile and one write of the
// status.
const settle = time.Second

// NewManager returns a manager that runs the controller. Before it starts it asks the API server
// only for the kinds that exist, and for the certificate of the server for progress reports.
func NewManager(cfg *rest.Config, o Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), rbacv1.AddToScheme(scheme), authv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("make scheme: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent, cfg.QPS, cfg.Burst = "muster-controller/"+o.Version, 200, 400
	ours, err := labels.Parse(names.LabelJob)
	if err != nil {
		return nil, fmt.Errorf("make selector: %w", err)
	}
	within := namespaces(o.Namespaces)
	mgr, err := manager.New(cfg, manager.Options{
		Scheme: scheme,
		Cache: cache.Options{DefaultNamespaces: within, DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: ours}, &corev1.Service{}: {Label: ours}, &corev1.ServiceAccount{}: {Label: ours},
			&rbacv1.Role{}: {Label: ours}, &rbacv1.RoleBinding{}: {Label: ours},
		}},
		LeaderElection: o.LeaderElection, LeaderElectionID: "muster-controller", LeaderElectionNamespace: o.LeaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.ProbeAddress,
	})
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, fmt.Errorf("add probes: %w", err)
	}
	series, err := census.NewChanges(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	jobs := census.New()
	if err := errors.Join(metrics.Registry.Register(jobs), mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { // only the leader runs it
		jobs.Begin(mgr.GetClient(), clock.RealClock{})
		return nil
	}))); err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	offer, err := offerProgress(mgr, o)
	if err != nil {
		return nil, err
	}
	spans, err := trace.NewExporter(mgr.GetLogger())
	if err != nil {
		return nil, err
	}
	tracer := trace.New(os.Getenv, spans.Send)
	if tracer != nil {
		if err := mgr.Add(spans); err != nil {
			return nil, fmt.Errorf("send traces: %w", err)
		}
	}
	nodes, err := kubelets.New(cfg, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("muster-controller"),
		Clock: clock.RealClock{}, AgentImage: o.AgentImage, MaxWorkers: o.MaxWorkers, Version: o.Version, Metrics: series, Offer: offer, Trace: tracer, Kubelets: nodes,
	}
	c, err := r.watch(mgr)
	if err != nil {
		return nil, err
	}
	r.Late = queue.NewLate(mgr, cfg, cache.Options{
		Scheme: scheme, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), DefaultNamespaces: within, DefaultLabelSelector: ours,
		DefaultTransform: cache.TransformStripManagedFields(),
	}, c, later(0))
	return mgr, errors.Join(topology.Add(mgr, reasonNoTopology), serve.Add(mgr, o.Serve, o.Namespaces))
}

// service is the name of the controller's Service.
const service = "muster-controller"

// certificateWithin is how long reading or creating the certificate may take.
const certificateWithin = 30 * time.Second

// offerProgress adds the server for progress reports. Jobs run without it, so a missing right is
// only logged.
func offerProgress(mgr manager.Manager, o Options) (*progress.Offer, error) {
	if o.ProgressAddr == "" || o.ProgressAddr == "0" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), certificateWithin)
	defer cancel()
	offer, err := progress.Add(ctx, mgr, progress.Options{Address: o.ProgressAddr, Service: service, Namespace: o.Namespace, Owner: fieldManager})
	if apierrors.IsForbidden(err) {
		mgr.GetLogger().Error(err, "jobs cannot report their progress: a right is missing")
		return nil, nil
	}
	return offer, err
}

func namespaces(list []string) map[string]cache.Config {
	if len(list) == 0 {
		return nil
	}
	all := map[string]cache.Config{}
	for _, name := range list {
		all[name] = cache.Config{}
	}
	return all
}

// watch calls the reconciler for each change of a job, and a moment after a change of a child.
func (r *Reconciler) watch(mgr manager.Manager) (controller.Controller, error) {
	b := ctrl.ControllerManagedBy(mgr).Named("launchjob").For(&v1alpha1.LaunchJob{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4})
	for _, child := range []client.Object{&corev1.Pod{}, &corev1.Service{}, &corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}} {
		b = b.Watches(child, later(settle))
	}
	c, err := b.Build(r)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return c, nil
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// later requests a reconcile, after a time, of the job that a child's label names. Further changes before
// it is due are part of it.
func later(after time.Duration) handler.Funcs {
	ask := func(o client.Object, q requests) {
		key := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[names.LabelJob]}
		q.AddAfter(reconcile.Request{NamespacedName: key}, after)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) { ask(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) { ask(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) { ask(e.Object, q) },
	}
}
