//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// progress is what a watch of a namespace has seen of its pods and jobs, with the
// moments: those of conditions have whole seconds only.
type progress struct {
	stop  func()
	ended chan error
	news  chan struct{} // something has changed

	mu        sync.Mutex
	scheduled map[string]time.Time // pods that have a node
	running   map[string]time.Time // pods all of whose containers run, or have run
	phases    map[phase]time.Time
}

// phase is one that a job has been in.
type phase struct{ job, name string }

// follow begins to watch. Its caller calls close.
func (w *world) follow(ctx context.Context, namespace string) (*progress, error) {
	watched, err := cache.New(w.cfg, cache.Options{Scheme: w.client.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	p := &progress{stop: stop, ended: make(chan error, 1), news: make(chan struct{}, 1),
		scheduled: map[string]time.Time{}, running: map[string]time.Time{}, phases: map[phase]time.Time{}}
	for _, kind := range []client.Object{&corev1.Pod{}, &v1alpha1.LaunchJob{}} {
		informer, err := watched.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: p.take, UpdateFunc: func(_, now any) { p.take(now) }})
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("watch: %w", err)
		}
	}
	go func() { p.ended <- watched.Start(ctx) }()
	if !watched.WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("watch: no list"), p.close())
	}
	return p, nil
}

func (p *progress) close() error {
	p.stop()
	return <-p.ended
}

func (p *progress) take(object any) {
	now := time.Now()
	first := func(seen map[string]time.Time, name string) {
		if _, ok := seen[name]; !ok {
			seen[name] = now
		}
	}
	p.mu.Lock()
	switch o := object.(type) {
	case *corev1.Pod:
		if o.Spec.NodeName != "" {
			first(p.scheduled, o.Name)
		}
		if started(o) {
			first(p.running, o.Name)
		}
	case *v1alpha1.LaunchJob:
		if at := (phase{o.Name, o.Status.Phase}); p.phases[at].IsZero() {
			p.phases[at] = now
		}
	}
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// started: every container runs, or has.
func started(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil && c.State.Terminated == nil {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) == len(pod.Spec.Containers)
}

// until waits until it is so; so is called with what has been seen held still.
func (p *progress) until(ctx context.Context, what string, so func() bool) error {
	for {
		p.mu.Lock()
		yes := so()
		seen := fmt.Sprintf("%d pods have nodes, %d run", len(p.scheduled), len(p.running))
		p.mu.Unlock()
		if yes {
			return nil
		}
		select {
		case <-p.news:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, errors.Join(errors.New(seen), ctx.Err()))
		}
	}
}

// inPhase counts the jobs that have been in a phase.
func (p *progress) inPhase(name string) (n int) {
	for at := range p.phases {
		if at.name == name {
			n++
		}
	}
	return n
}

// last is the latest of some moments.
func last(moments map[string]time.Time) (latest time.Time) {
	for at := range maps.Values(moments) {
		if at.After(latest) {
			latest = at
		}
	}
	return latest
}
