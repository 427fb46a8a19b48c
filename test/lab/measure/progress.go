//go:build linux

package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/kube"
)

// Progress records when a watch of a namespace first saw each state of its pods and jobs.
// It uses this machine's clock, because conditions have a resolution of one second.
type Progress struct {
	stop  func()
	ended chan error
	news  chan struct{} // receives after each change

	mu        sync.Mutex
	Created   map[string]time.Time // pods
	Scheduled map[string]time.Time // pods that were assigned to a node
	Running   map[string]time.Time // pods whose containers all run, or have ended
	Phases    map[Phase]time.Time
}

// Phase is a phase that a job has been in: a LaunchJob's phase, or a condition that was True.
type Phase struct{ Job, Name string }

// Follow starts to watch pods, LaunchJobs, and other kinds of jobs as unstructured
// objects. The caller must call Close.
func (w *World) Follow(ctx context.Context, namespace string, others ...schema.GroupVersionKind) (*Progress, error) {
	watched, err := cache.New(w.Config, cache.Options{Scheme: w.Client.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	p := newProgress()
	p.stop = stop
	kinds := []client.Object{&corev1.Pod{}, &v1alpha1.LaunchJob{}}
	for _, other := range others {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(other)
		kinds = append(kinds, o)
	}
	for _, kind := range kinds {
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
		return nil, errors.Join(errors.New("watch: the caches did not sync"), p.Close())
	}
	return p, nil
}

// Close ends the watch.
func (p *Progress) Close() error {
	p.stop()
	return <-p.ended
}

func newProgress() *Progress {
	return &Progress{ended: make(chan error, 1), news: make(chan struct{}, 1),
		Created: map[string]time.Time{}, Scheduled: map[string]time.Time{}, Running: map[string]time.Time{}, Phases: map[Phase]time.Time{}}
}

func (p *Progress) take(object any) {
	now := time.Now()
	first := func(seen map[string]time.Time, name string) {
		if _, ok := seen[name]; !ok {
			seen[name] = now
		}
	}
	p.mu.Lock()
	switch o := object.(type) {
	case *corev1.Pod:
		first(p.Created, o.Name)
		if o.Spec.NodeName != "" {
			first(p.Scheduled, o.Name)
		}
		if started(o) {
			first(p.Running, o.Name)
		}
	case *v1alpha1.LaunchJob:
		p.in(Phase{o.Name, o.Status.Phase}, now)
	case *unstructured.Unstructured:
		for _, name := range conditions(o) {
			p.in(Phase{o.GetName(), name}, now)
		}
	}
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *Progress) in(phase Phase, now time.Time) {
	if p.Phases[phase].IsZero() {
		p.Phases[phase] = now
	}
}

// conditions returns the types of the conditions that are True.
func conditions(o *unstructured.Unstructured) (list []string) {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // the object may have no conditions
	for _, item := range all {
		c, _ := item.(map[string]any)
		if name, _ := c["type"].(string); c["status"] == "True" {
			list = append(list, name)
		}
	}
	return list
}

// started reports whether every container runs, or has ended.
func started(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil && c.State.Terminated == nil {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) == len(pod.Spec.Containers)
}

// Until waits until so returns true. Progress does not change while so runs.
func (p *Progress) Until(ctx context.Context, what string, so func() bool) error {
	for {
		p.mu.Lock()
		yes := so()
		seen := fmt.Sprintf("%d pods are scheduled, %d run", len(p.Scheduled), len(p.Running))
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

// InPhase counts the jobs that have been in a phase.
func (p *Progress) InPhase(name string) (n int) {
	for at := range p.Phases {
		if at.Name == name {
			n++
		}
	}
	return n
}

// Last returns the latest of moments.
func Last(moments map[string]time.Time) (latest time.Time) {
	for at := range maps.Values(moments) {
		if at.After(latest) {
			latest = at
		}
	}
	return latest
}

// Line is a line of a container's log, with containerd's timestamp.
type Line struct {
	At   time.Time
	Text string
}

// Lines reads a container's log so far.
func Lines(ctx context.Context, namespace, pod string) ([]Line, error) {
	log, err := kube.Kubectl(ctx, namespace, nil, "logs", "--timestamps", pod)
	if err != nil {
		return nil, err
	}
	return ParseLines(log)
}

// ParseLines reads a log whose lines begin with timestamps.
func ParseLines(log string) (list []Line, err error) {
	for text := range strings.Lines(log) {
		stamp, text, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		list = append(list, Line{at, text})
	}
	return list, nil
}

// Versions returns the output of sh commands in a pod, and the versions of the API server and kubectl.
func Versions(ctx context.Context, namespace, pod, commands string) ([]string, error) {
	said, err := kube.Kubectl(ctx, namespace, nil, "exec", pod, "--", "sh", "-c", commands)
	if err != nil {
		return nil, err
	}
	cluster, err := kube.Kubectl(ctx, namespace, nil, "version")
	return strings.Split(strings.TrimSpace(said+cluster), "\n"), err
}
