package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Late watches Workloads from the first job on that needs one. A controller that watched them from its start would not
// start in a cluster without Kueue. It would also have to be restarted when Kueue is installed. The watch has a cache of
// its own, because its kind may vanish again, and keeps only metadata. It says when to look; the Workload itself is
// read from the API server. Until the watch has begun, and where the right to watch is missing, jobs are looked at
// every few seconds. A nil Late never watches.
type Late struct {
	start func(schema.GroupVersionKind) (synced func() bool, err error)

	mu     sync.Mutex
	kind   schema.GroupVersionKind
	synced func() bool
}

// Watch begins to watch a kind, unless it does already, and reports whether its changes are seen.
func (w *Late) Watch(kind schema.GroupVersionKind) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind != kind { // at first, and when Kueue was replaced by another version
		synced, err := w.start(kind)
		if err != nil {
			return false // the next reconcile tries again
		}
		w.kind, w.synced = kind, synced
	}
	return w.synced()
}

// NewLate returns a watch for a controller that runs. Its changes go to a handler.
func NewLate(mgr manager.Manager, cfg *rest.Config, options cache.Options, c controller.Controller, to handler.EventHandler) *Late {
	return &Late{start: func(kind schema.GroupVersionKind) (func() bool, error) {
		own, err := cache.New(cfg, options)
		if err != nil {
			return nil, fmt.Errorf("make a cache for %s: %w", kind.Kind, err)
		}
		of := &metav1.PartialObjectMetadata{}
		of.SetGroupVersionKind(kind)
		informer, err := own.GetInformer(context.Background(), of, cache.BlockUntilSynced(false)) // it asks the server for nothing yet
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		if err := errors.Join(c.Watch(&source.Informer{Informer: informer, Handler: to}), mgr.Add(own)); err != nil {
			return nil, fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		return informer.HasSynced, nil
	}}
}
